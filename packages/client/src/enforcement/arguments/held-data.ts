import { type CopyRules, frozenCopy } from './frozen-copy.js'

/** A date is what the schema of a tool makes of text, and what functions are given. Nothing else in arguments is more than JSON. */
const WITH_DATES: CopyRules = {
  copyOther: (value) => {
    const isPlain = Object.getPrototypeOf(value) === Date.prototype && Reflect.ownKeys(value).length === 0
    // As nothing but a date is written, whatever its prototype.
    const isDate = isPlain && Object.prototype.toString.call(value) === '[object Date]'
    return isDate ? new Date(value as Date) : undefined
  },
}

/**
 * Holds arguments: what is mapped to a question has to be what the action is given, whatever happens to the caller's objects in
 * between.
 *
 * @param path names the value in messages
 * @returns what gives a frozen copy for one use; freezing does not hold a date, so no two uses share one
 * @throws TypeError naming the path of what is not plain data, see `frozenCopy`; for a Proxy, too
 */
export function heldData<Value>(value: Value, path: string): () => Value {
  const copy = frozenCopy(value, path, WITH_DATES)
  try {
    // A Proxy is code, and nothing else can tell one from data.
    structuredClone(value)
  } catch (error) {
    throw new TypeError(`${path} cannot be copied`, { cause: error })
  }
  return () => frozenCopy(copy, path, WITH_DATES)
}
