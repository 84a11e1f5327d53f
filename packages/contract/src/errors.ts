/**
 * THE catalogue of problem codes. `code` is stable and part of the API; docs/reference/errors.md is generated from here.
 * Source: RFC 9457; docs/reference/errors.md.
 */
export interface ErrorEntry {
  readonly status: number
  readonly title: string
  /** Whether the same request may succeed when sent again unchanged. */
  readonly retryable: boolean
  /** What the caller should do, one or two sentences. */
  readonly remedy: string
}

/** Every code, by status. */
export const ERRORS = {
  malformed_json: {
    status: 400,
    title: 'The request body is not strict JSON.',
    retryable: false,
    remedy: 'Mend the text of the body at the place that `detail` names.',
  },
  validation_failed: {
    status: 400,
    title: 'The request is not valid.',
    retryable: false,
    remedy: 'Mend every place that `errors` names by its JSON pointer.',
  },
  invalid_cursor: {
    status: 400,
    title: 'The cursor is not valid here.',
    retryable: false,
    remedy: 'Start the list again without a cursor, with the same filters on every page.',
  },
  permit_invalid: {
    status: 400,
    title: 'The permit is not valid.',
    retryable: false,
    remedy: 'Do not run the action. Ask for a decision and present the permit that it carries.',
  },
  unauthorized: {
    status: 401,
    title: 'The API key is missing or not valid.',
    retryable: false,
    remedy: 'Send `Authorization: Bearer <API key>` with a key that is neither revoked nor expired.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The API key lacks a scope.',
    retryable: false,
    remedy: 'Use a key that has the scope named in `detail`.',
  },
  agent_not_allowed: {
    status: 403,
    title: 'The API key may not speak for this agent.',
    retryable: false,
    remedy: 'Use a key whose `agents` match the agent, or ask for the agent that the key is bound to.',
  },
  key_too_wide: {
    status: 403,
    title: 'A key cannot act on a key wider than itself.',
    retryable: false,
    remedy: 'Ask for no more scopes, agents or life than the calling key has, or call with a wider key.',
  },
  not_own_key: {
    status: 403,
    title: 'The key belongs to somebody else.',
    retryable: false,
    remedy:
      'Rotate it with the key itself, with a key that created it or created one above it (`created_by`), or with a `*` key.',
  },
  self_approval: {
    status: 403,
    title: 'A key cannot review what it or its kin asked for.',
    retryable: false,
    remedy: 'Let a person with a key of another origin approve or decline it.',
  },
  not_asker: {
    status: 403,
    title: 'Only the key that asked may claim the decision.',
    retryable: false,
    remedy: 'Claim with the API key that asked for the decision.',
  },
  permit_redeemed: {
    status: 403,
    title: 'The permit was redeemed: who redeemed it settles the decision.',
    retryable: false,
    remedy:
      'Let the key that redeemed the permit, or one with decisions:settle, reject it or confirm the lower amount.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here.',
    retryable: false,
    remedy: 'Check the path and the id. Objects of agents that the key is not bound to do not exist for it.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed here.',
    retryable: false,
    remedy: 'Use one of the methods in the `Allow` header.',
  },
  policy_name_taken: {
    status: 409,
    title: 'A policy with this name already exists.',
    retryable: false,
    remedy: 'Choose another name, or change the existing policy with PUT.',
  },
  agent_exists: {
    status: 409,
    title: 'The agent is registered already.',
    retryable: false,
    remedy: 'Change it with PUT.',
  },
  agent_suspended: {
    status: 409,
    title: 'The agent is suspended.',
    retryable: false,
    remedy: 'Resume the agent first.',
  },
  invalid_transition: {
    status: 409,
    title: 'The decision is not in a state that allows this.',
    retryable: false,
    remedy: 'Look at `current_status`; what is settled stays settled.',
  },
  already_claimed: {
    status: 409,
    title: 'Another holder runs this decision.',
    retryable: false,
    remedy: 'Do not run the action: another holder has it.',
  },
  permit_already_used: {
    status: 409,
    title: 'The permit has been used.',
    retryable: false,
    remedy: 'Do not run the action again. Ask for a new decision.',
  },
  policy_denies: {
    status: 409,
    title: 'The present policies deny this.',
    retryable: false,
    remedy: 'Change the policies, or decline the decision. The decision stays as it is.',
  },
  budget_exceeded: {
    status: 409,
    title: 'A budget has no room for this.',
    retryable: false,
    remedy:
      'Approve it later, or, where every such budget says `on_exceed: review`, with `exceed_budget: true`. The decision stays as it is.',
  },
  last_admin_key: {
    status: 409,
    title: 'This is the last live key with the scope *.',
    retryable: false,
    remedy: 'Create another key with the scope `*` first.',
  },
  limit_reached: {
    status: 409,
    title: 'The store can hold no more of this.',
    retryable: false,
    remedy:
      'Revoke API keys, or delete policies, that are not needed any more. A key can always be revoked, or rotated with `grace_seconds: 0`.',
  },
  revision_mismatch: {
    status: 412,
    title: 'The policy has changed since it was read.',
    retryable: false,
    remedy: 'Read the policy again, apply the change to it, and send its present `ETag` in `If-Match`.',
  },
  body_too_large: {
    status: 413,
    title: 'The request body is too large.',
    retryable: false,
    remedy: 'Send at most 64 KiB for a decision and 256 KiB elsewhere.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body has to be plain application/json.',
    retryable: false,
    remedy: 'Send `Content-Type: application/json` in UTF-8 and no content encoding.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The idempotency key was used with another body.',
    retryable: false,
    remedy: 'Use a fresh key for a new request and the same body for a retry.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests.',
    retryable: true,
    remedy: 'Wait for the seconds in `Retry-After`.',
  },
  internal_error: {
    status: 500,
    title: 'The server failed.',
    retryable: true,
    remedy: 'Nothing was permitted. Quote `request_id` to the operator.',
  },
  store_unavailable: {
    status: 503,
    title: 'The store cannot record the decision.',
    retryable: true,
    remedy: 'Nothing was permitted. Ask again after `Retry-After` with the same idempotency key.',
  },
  budget_busy: {
    status: 503,
    title: 'Too many decisions of one budget are on their way.',
    retryable: true,
    remedy: 'Nothing was permitted. Ask again after `Retry-After` with the same idempotency key.',
  },
  replica_stale: {
    status: 503,
    title: 'This server could not confirm its policies, keys and suspensions of late.',
    retryable: true,
    remedy: 'Nothing was permitted. Ask again after `Retry-After` with the same idempotency key, or another replica.',
  },
} as const satisfies Record<string, ErrorEntry>

/** One of the codes of the catalogue. */
export type ErrorCode = keyof typeof ERRORS
