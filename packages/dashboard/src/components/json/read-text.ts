import type { Json } from '@countersign/contract'
import { parseStrictJson } from '@countersign/contract/strict-json'

/** What a text stands for, or the first place where it is no JSON as the server takes it. */
export type ReadText =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly offset: number; readonly what: string }

/** As the server nests policies at most. */
const MAX_DEPTH = 32

/** Reads a text as strictly as the server: a key given twice, or a number that no double holds, is a fault. */
export function readText(text: string): ReadText {
  const read = parseStrictJson(new TextEncoder().encode(text), { maxDepth: MAX_DEPTH })
  return read.ok ? read : { ok: false, ...placeOf(text, read.detail) }
}

/** `Line 1, column 31: the key "amount" is repeated.` as an offset and what is there. */
export function placeOf(text: string, detail: string): { readonly offset: number; readonly what: string } {
  const [, line = '1', column = '1', what = detail] = /^Line (\d+), column (\d+): (.*)$/s.exec(detail) ?? []
  const lines = text.split('\n').slice(0, Number(line) - 1)
  const offset = lines.reduce((sum, { length }) => sum + length + 1, Number(column) - 1)
  return { offset: Math.min(offset, text.length), what }
}
