import { isJsonObject, type JsonObject } from '@countersign/contract'
import { parseStrictJson } from '@countersign/contract/strict-json'

/** Far more than permits and key sets have. */
const MAX_DEPTH = 32

/**
 * Reads bytes as one object of strict JSON: two readers of it find the same.
 *
 * @throws SyntaxError when they are anything else
 */
export function parseStrictObject(bytes: Uint8Array): JsonObject {
  const parsed = parseStrictJson(bytes, { maxDepth: MAX_DEPTH })
  if (!parsed.ok) throw new SyntaxError(parsed.detail)
  if (!isJsonObject(parsed.value)) throw new SyntaxError('It is not an object.')
  return parsed.value
}
