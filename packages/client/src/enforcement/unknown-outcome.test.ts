import { expect, it } from 'vitest'
import { UnavailableError } from '../errors/unavailable-error.js'
import { isOutcomeUnknown } from './unknown-outcome.js'

it.each([
  ['an abort', new DOMException('aborted', 'AbortError')],
  ['a timeout', AbortSignal.timeout(1).reason ?? new DOMException('late', 'TimeoutError')],
  ['a reset', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
  [
    'a fetch that was cut off',
    new TypeError('fetch failed', { cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }) }),
  ],
  ['a client of this package without an answer', new UnavailableError('timeout', 'late')],
  [
    'an error that cannot be looked at',
    new Proxy(
      {},
      {
        get: () => {
          throw new Error('no')
        },
      },
    ),
  ],
])('nobody knows how far an action came after %s', (_what, error) => {
  expect(isOutcomeUnknown(error)).toBe(true)
})

it.each([
  ['an error', new Error('card declined')],
  ['a text', 'no'],
  ['nothing', undefined],
  [
    'a connection that was refused',
    new TypeError('fetch failed', { cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }) }),
  ],
  ['a name that is not found', Object.assign(new Error('no'), { code: 'ENOTFOUND' })],
  [
    'causes in a circle',
    (() => {
      const error = new Error('a')
      error.cause = error
      return error
    })(),
  ],
])('an action that ended with %s has failed', (_what, error) => {
  expect(isOutcomeUnknown(error)).toBe(false)
})
