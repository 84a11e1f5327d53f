import type { Json } from '@countersign/contract'
import { parseStrictJson } from '@countersign/contract/strict-json'

/** The value of a text, or the first place that the server would refuse. */
export type ReadText =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly offset: number; readonly what: string }

/** The deepest nesting that the server accepts in a policy. */
const MAX_DEPTH = 32

/** Parses a text as strictly as the server, which refuses repeated keys and numbers outside the range of a double. */
export function readText(text: string): ReadText {
  const read = parseStrictJson(new TextEncoder().encode(text), { maxDepth: MAX_DEPTH })
  return read.ok ? read : { ok: false, ...placeOf(text, read.detail) }
}

/** Parses `Line 1, column 31: the key "amount" is repeated.` into an offset and a message. */
export function placeOf(text: string, detail: string): { readonly offset: number; readonly what: string } {
  const [, line = '1', column = '1', what = detail] = /^Line (\d+), column (\d+): (.*)$/s.exec(detail) ?? []
  const lines = text.split('\n').slice(0, Number(line) - 1)
  const offset = lines.reduce((sum, { length }) => sum + length + 1, Number(column) - 1)
  return { offset: Math.min(offset, text.length), what }
}
