import type { z } from 'zod'

/** The number of faults found so far in the value being validated; null outside of such a validation. */
let found: number | null = null
let enough = 0

/**
 * Validates and counts faults: beyond `most`, list items marked by {@link countedItem} are skipped. The value is faulty
 * in any case by then.
 */
export function countingFaults<T extends { readonly success: boolean }>(most: number, validate: () => T): T {
  found = 0
  enough = most
  try {
    const result = validate()
    if (result.success && found >= enough) throw new Error('a value with faults came out as valid')
    return result
  } finally {
    found = null
  }
}

/** Whether enough faults were found to skip the rest. */
function hasEnoughFaults(): boolean {
  return found !== null && found >= enough
}

/** Marks a schema as that of the items of lists that may be long, and returns it. */
export function countedItem<Schema extends z.ZodType>(schema: Schema): Schema {
  const { run } = schema._zod
  schema._zod.run = (payload, context) => {
    if (found === null) return run(payload, context)
    if (hasEnoughFaults()) return payload
    const before = found
    const result = run(payload, context)
    // Lists inside this item have already counted their own faults.
    if (!(result instanceof Promise)) found = Math.max(found, before + result.issues.length)
    return result
  }
  return schema
}
