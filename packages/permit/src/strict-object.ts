import { isJsonObject, type JsonObject } from '@countersign/contract'
import { parseStrictJson } from '@countersign/contract/strict-json'

/** Far deeper than permits and key sets. */
const MAX_DEPTH = 32

/**
 * Reads bytes as one object of strict JSON, which has only one interpretation.
 *
 * @throws SyntaxError for anything else
 */
export function parseStrictObject(bytes: Uint8Array): JsonObject {
  const parsed = parseStrictJson(bytes, { maxDepth: MAX_DEPTH })
  if (!parsed.ok) throw new SyntaxError(parsed.detail)
  if (!isJsonObject(parsed.value)) throw new SyntaxError('It is not an object.')
  return parsed.value
}
