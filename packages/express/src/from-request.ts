import type { Request } from 'express'
import { readStrictly } from './strict-params.js'

/** A value, or what finds it in the request. */
export type FromRequest<Value, Req> = Value | ((req: Req) => Value)

/** @throws TypeError for a promise and for a misspelt name of `req.params`, and whatever the function throws */
export function resolved<Value>(option: string, given: FromRequest<Value, Request>, req: Request): Value {
  if (typeof given !== 'function') return given
  const read = given as (req: Request) => Value
  return givenAtOnce(
    option,
    readStrictly(req, () => read(req)),
  )
}

/**
 * What a function of the app gave, where nobody waits for it. That a promise rejects is then no reason for the process to end.
 *
 * @throws TypeError for a promise, and for what is like one
 */
export function givenAtOnce<Value>(option: string, value: Value): Value {
  if (!isThenable(value)) return value
  Promise.resolve(value).catch(() => undefined)
  throw new TypeError(`${option} gave a promise, which is not waited for`)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
