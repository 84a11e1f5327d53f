/** The hashes by which entries bind data that they do not contain. */
import type { JsonObject } from '@countersign/contract'
import { canonicalJson } from '@countersign/contract/canonical-json'
import { sha256Joined, sha256Text } from '#sha256'

/** SHA-256 of the canonical JSON (RFC 8785) of a value, as base64url. */
export function jsonHash(value: unknown): string {
  return sha256Text(canonicalJson(value))
}

/**
 * Returns the SHA-256 of a salt and a hash, as base64url. The log proves the hashed data only to a reader with the
 * salt.
 *
 * @param salt base64url
 * @param hash base64url
 */
export function saltedHash(salt: string, hash: string): string {
  return sha256Joined(salt, hash)
}

/** The data hashed in `details` of `decision.created`: everything that never changes and is not in the entry itself. */
interface DecisionDetails {
  readonly effect: unknown
  readonly reason: unknown
  readonly advice: unknown
  readonly shadow: unknown
  readonly evaluated_at: unknown
  readonly agent_revision: unknown
  readonly request_id: unknown
  readonly holder: unknown
}

/** Returns `details` of `decision.created`. A review has no holder before its claim, which has its own entry. */
export function detailsHash(decision: DecisionDetails): string {
  const { effect, reason, advice, shadow, evaluated_at, agent_revision, request_id } = decision
  const holder = effect === 'review' ? null : decision.holder
  return jsonHash({ advice, agent_revision, evaluated_at, holder, reason, request_id, shadow })
}

/** Returns `settings_hash` of a webhook: the hash of its settings, with the whole URL. */
export function settingsHash(salt: string, { url, events, description }: JsonObject): string {
  return saltedHash(salt, jsonHash({ description, events, url }))
}

/** Returns `metadata_hash` of an agent: the hash of its whole registration. */
export function metadataHash(salt: string, registration: Omit<JsonObject, 'revision' | 'salt'>): string {
  const { name, description, metadata, created_at } = registration
  return saltedHash(salt, jsonHash({ created_at, description, metadata, name }))
}
