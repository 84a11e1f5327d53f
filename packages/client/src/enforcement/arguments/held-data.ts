import { DeniedError } from '../../errors/denied-error.js'
import { type CopyRules, frozenCopy } from './frozen-copy.js'

/** Schemas of tools turn texts into dates, and functions get dates. Everything else in arguments is JSON. */
const WITH_DATES: CopyRules = {
  copyOther: (value) => {
    const isPlain = Object.getPrototypeOf(value) === Date.prototype && Reflect.ownKeys(value).length === 0
    // Only a real date has this tag, whatever its prototype is.
    const isDate = isPlain && Object.prototype.toString.call(value) === '[object Date]'
    return isDate ? new Date(value as Date) : undefined
  },
}

/**
 * Holds arguments: the action must get what was mapped to the question, even if the caller changes its objects in between.
 *
 * @param path names the value in messages
 * @returns a function that gives a frozen copy for one use; a date cannot be frozen, so no two uses share a copy
 * @throws TypeError naming the path of what is not plain data, see `frozenCopy`; for a Proxy, too
 */
export function heldData<Value>(value: Value, path: string): () => Value {
  const copy = frozenCopy(value, path, WITH_DATES)
  try {
    // A Proxy is code, and only this tells it from data.
    structuredClone(value)
  } catch (error) {
    throw new TypeError(`${path} cannot be copied`, { cause: error })
  }
  return () => frozenCopy(copy, path, WITH_DATES)
}

/** @throws DeniedError (`arguments_refused`) if the arguments cannot be held */
export function heldOrRefused<Held>(hold: () => Held): Held {
  try {
    return hold()
  } catch (cause) {
    throw new DeniedError('arguments_refused', { cause })
  }
}
