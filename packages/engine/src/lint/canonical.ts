import { isJsonObject, type Json } from '@countersign/contract'

/** Returns the same text for JSON values that differ only in the order of their members. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: Json) =>
    isJsonObject(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )
}
