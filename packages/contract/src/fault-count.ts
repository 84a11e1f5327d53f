import type { z } from 'zod'

/** The faults found so far in the value that is validated; null while none is. */
let found: number | null = null
let enough = 0

/**
 * Validates with an eye on the number of faults: beyond `most`, items of lists that {@link countedItem} has
 * marked are not looked at any more. The value is faulty then in any case.
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

/** Whether enough faults were found already to look at nothing more. */
function hasEnoughFaults(): boolean {
  return found !== null && found >= enough
}

/** Makes a schema that of the items of lists that may be long, and gives it back. */
export function countedItem<Schema extends z.ZodType>(schema: Schema): Schema {
  const { run } = schema._zod
  schema._zod.run = (payload, context) => {
    if (found === null) return run(payload, context)
    if (hasEnoughFaults()) return payload
    const before = found
    const result = run(payload, context)
    // Lists inside this item have counted what is theirs.
    if (!(result instanceof Promise)) found = Math.max(found, before + result.issues.length)
    return result
  }
  return schema
}
