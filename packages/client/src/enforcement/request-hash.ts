import { sha256 } from '../sha256.js'
import type { Json } from '../wire.js'
import type { Asked } from './arguments/asked.js'

const encoder = new TextEncoder()

/**
 * Names a question by its content, as the decision point does in `request_hash`: base64url SHA-256 of its canonical JSON.
 *
 * Source: docs/permits.md "The request hash"; RFC 8785.
 */
export function requestHashOf({ agent_id, action, resource, context }: Asked): string {
  const digits = sha256(encoder.encode(canonical({ agent_id, action, resource, context })))
  const bytes = digits.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16)))
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
}

/** Members in the order of their names, by code units. */
function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}
