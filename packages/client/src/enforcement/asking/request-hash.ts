import { sha256 } from '../../sha256.js'
import type { Json } from '../../wire.js'
import type { Asked } from './asked.js'

const encoder = new TextEncoder()

/**
 * Identifies a question by its content, as `request_hash` of the decision point does: base64url SHA-256 of its canonical JSON.
 *
 * Source: docs/permits.md "The request hash"; RFC 8785.
 */
export function requestHashOf(asked: Asked): string {
  const digits = sha256(encoder.encode(canonicalText(asked)))
  const bytes = digits.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16)))
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
}

/** The canonical JSON of a question: two questions are the same if their texts are equal. */
export function canonicalText({ agent_id, action, resource, context }: Asked): string {
  return canonical({ agent_id, action, resource, context })
}

/** Members in the order of their names, by code units. */
function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}
