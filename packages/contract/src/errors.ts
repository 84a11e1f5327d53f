/**
 * THE catalogue of problem codes. `code` is stable and part of the API; docs/reference/errors.md is generated from here.
 * Source: RFC 9457; docs/reference/errors.md.
 */
export interface ErrorEntry {
  readonly status: number
  readonly title: string
  /** Whether the same request may succeed when sent again unchanged. */
  readonly retryable: boolean
  /** What the caller should do, in one or two sentences. */
  readonly remedy: string
}

/** Every code, by status. */
export const ERRORS = {
  malformed_json: {
    status: 400,
    title: 'The request body is not strict JSON.',
    retryable: false,
    remedy: 'Fix the JSON at the position given in `detail`.',
  },
  validation_failed: {
    status: 400,
    title: 'The request is not valid.',
    retryable: false,
    remedy: 'Fix each problem in `errors`. Its `pointer` is a JSON Pointer into the request.',
  },
  invalid_cursor: {
    status: 400,
    title: 'The cursor is not valid for this list.',
    retryable: false,
    remedy: 'Start again without a cursor, and keep the filters the same on every page.',
  },
  permit_invalid: {
    status: 400,
    title: 'The permit is not valid.',
    retryable: false,
    remedy: 'Do not run the action. Request a new decision and present its permit.',
  },
  unauthorized: {
    status: 401,
    title: 'The API key is missing or not valid.',
    retryable: false,
    remedy: 'Send `Authorization: Bearer <API key>` with a key that is not revoked or expired.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The API key lacks a required scope.',
    retryable: false,
    remedy: 'Use a key that has the scope named in `detail`.',
  },
  cross_origin: {
    status: 403,
    title: 'The request does not come from a page of this dashboard.',
    retryable: false,
    remedy: 'Reload the page of the dashboard. A program uses an API key with `/v1` instead of a session.',
  },
  insecure_origin: {
    status: 403,
    title: "Signing in over plain HTTP is only possible on the server's machine.",
    retryable: false,
    remedy:
      'Open the dashboard over HTTPS, for example behind a proxy that terminates TLS, or through a tunnel: `ssh -L 8787:127.0.0.1:8787 <host>`, then `http://127.0.0.1:8787`.',
  },
  agent_not_allowed: {
    status: 403,
    title: 'The API key may not act for this agent.',
    retryable: false,
    remedy: 'Use a key whose `agents` match this agent, or name an agent that the key may act for.',
  },
  key_too_wide: {
    status: 403,
    title: 'A key cannot act on a key that has more permissions.',
    retryable: false,
    remedy:
      'Stay within the scopes, agents and expiry of the calling key, or call with a key that has more permissions.',
  },
  not_own_key: {
    status: 403,
    title: 'The calling key is not an ancestor of this key.',
    retryable: false,
    remedy:
      'Rotate the key with itself, with one of its ancestors (see `created_by`), or with a key that has the scope `*`.',
  },
  self_approval: {
    status: 403,
    title: 'A key cannot review a decision that it or a related key requested.',
    retryable: false,
    remedy: 'Let a person approve or decline it with a key that is not related to the requesting key.',
  },
  not_asker: {
    status: 403,
    title: 'Only the API key that requested the decision may claim it.',
    retryable: false,
    remedy: 'Claim the decision with the API key that requested it.',
  },
  permit_redeemed: {
    status: 403,
    title: 'The permit was redeemed, so this key may not settle the decision in this way.',
    retryable: false,
    remedy:
      'Use the key that redeemed the permit, or a key with `decisions:settle`, to reject the decision or to confirm a lower amount.',
  },
  not_found: {
    status: 404,
    title: 'Nothing was found here.',
    retryable: false,
    remedy: 'Check the path and the id. A key that is bound to agents does not see the objects of other agents.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed for this path.',
    retryable: false,
    remedy: 'Use a method from the `Allow` header.',
  },
  policy_name_taken: {
    status: 409,
    title: 'A policy with this name already exists.',
    retryable: false,
    remedy: 'Choose another name, or change the existing policy with PUT.',
  },
  agent_exists: {
    status: 409,
    title: 'The agent is already registered.',
    retryable: false,
    remedy: 'Change the agent with PUT.',
  },
  agent_suspended: {
    status: 409,
    title: 'The agent is suspended.',
    retryable: false,
    remedy: 'Resume the agent first.',
  },
  invalid_transition: {
    status: 409,
    title: 'The status of the decision does not allow this.',
    retryable: false,
    remedy: 'Check `current_status`. A settled decision stays settled.',
  },
  already_claimed: {
    status: 409,
    title: 'Another holder has claimed this decision.',
    retryable: false,
    remedy: 'Do not run the action. The other holder runs it.',
  },
  permit_already_used: {
    status: 409,
    title: 'The permit has been used.',
    retryable: false,
    remedy: 'Do not run the action again. Request a new decision.',
  },
  policy_denies: {
    status: 409,
    title: 'The current policies deny this.',
    retryable: false,
    remedy: 'Change the policies, or decline the decision. The decision has not changed.',
  },
  budget_exceeded: {
    status: 409,
    title: 'The action exceeds a budget.',
    retryable: false,
    remedy:
      'Approve it later. If every exceeded budget has `on_exceed: review`, you may approve it now with `exceed_budget: true`. The decision has not changed.',
  },
  last_admin_key: {
    status: 409,
    title: 'This is the last live key with the scope *.',
    retryable: false,
    remedy: 'Create another key with the scope `*` first.',
  },
  log_rewritten: {
    status: 409,
    title: 'The audit log does not continue from what this server has signed.',
    retryable: false,
    remedy:
      'The log in the store was changed, or the store is older than the data directory. `detail` says what differs. Find out why, then restore the store or run `countersign audit accept-rewrite`. Decisions continue in the meantime.',
  },
  webhook_disabled: {
    status: 409,
    title: 'The webhook is disabled.',
    retryable: false,
    remedy: 'Enable the webhook with a PUT first.',
  },
  limit_reached: {
    status: 409,
    title: 'The store has reached a size limit.',
    retryable: false,
    remedy:
      'Revoke API keys, or delete policies or webhooks, that you no longer need. You can always revoke a key, or rotate it with `grace_seconds: 0`.',
  },
  revision_mismatch: {
    status: 412,
    title: 'The policy has changed since you read it.',
    retryable: false,
    remedy: 'Read the policy again, apply your change to it, and send its current `ETag` in `If-Match`.',
  },
  body_too_large: {
    status: 413,
    title: 'The request body is too large.',
    retryable: false,
    remedy: 'Send at most 64 KiB for a decision, and at most 256 KiB for any other request.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The request body must be uncompressed application/json.',
    retryable: false,
    remedy: 'Send UTF-8 with `Content-Type: application/json` and without `Content-Encoding`.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The idempotency key was used with a different body.',
    retryable: false,
    remedy: 'Use a new key for a new request, or the same body for a retry.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests.',
    retryable: true,
    remedy: 'Wait for the number of seconds in `Retry-After`, then retry.',
  },
  internal_error: {
    status: 500,
    title: 'The server failed.',
    retryable: true,
    remedy: 'Nothing was permitted. Report `request_id` to the operator.',
  },
  store_unavailable: {
    status: 503,
    title: 'The store cannot record the decision.',
    retryable: true,
    remedy: 'Nothing was permitted. Retry with the same idempotency key after `Retry-After`.',
  },
  budget_busy: {
    status: 503,
    title: 'Too many decisions are waiting for the same budget.',
    retryable: true,
    remedy: 'Nothing was permitted. Retry with the same idempotency key after `Retry-After`.',
  },
  replica_stale: {
    status: 503,
    title: 'This server could not refresh its policies, API keys and suspensions in time.',
    retryable: true,
    remedy: 'Nothing was permitted. Retry with the same idempotency key after `Retry-After`, or on another replica.',
  },
} as const satisfies Record<string, ErrorEntry>

/** One of the codes of the catalogue. */
export type ErrorCode = keyof typeof ERRORS
