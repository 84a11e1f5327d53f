import { hash } from 'node:crypto'
import type { JsonObject } from '@countersign/contract'
import { canonicalJson } from '@countersign/contract/canonical-json'

/** The request of a permit. Absent members count as null. */
export interface HashedRequest {
  readonly agent_id: string
  readonly action: string
  readonly resource?: string | null | undefined
  readonly context?: JsonObject | null | undefined
}

/**
 * Identifies a request by its content: equal requests have equal hashes, in any order of their members.
 *
 * The result is the base64url SHA-256 (43 characters) of the canonical JSON of exactly `{agent_id, action, resource,
 * context}`.
 *
 * @throws Error when the context contains what JSON cannot: a number that is not finite, a lone surrogate, a cycle
 *
 * Source: docs/permits.md "The request hash"; RFC 8785.
 */
export function requestHash(request: HashedRequest): string {
  const { agent_id, action, resource = null, context = null } = request
  return hash('sha256', canonicalJson({ action, agent_id, context, resource }), 'base64url')
}
