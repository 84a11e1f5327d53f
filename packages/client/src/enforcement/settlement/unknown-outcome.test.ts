import { expect, it } from 'vitest'
import { DeniedError } from '../../errors/denied-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import { isOutcomeUnknown } from './unknown-outcome.js'

it.each([
  ['an abort', new DOMException('aborted', 'AbortError')],
  ['a timeout', AbortSignal.timeout(1).reason ?? new DOMException('late', 'TimeoutError')],
  ['a reset', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
  [
    'a fetch that was cut off',
    new TypeError('fetch failed', { cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }) }),
  ],
  [
    'a cancelled request of axios',
    Object.assign(new Error('canceled'), { name: 'CanceledError', code: 'ERR_CANCELED' }),
  ],
  ['a stream of HTTP/2 that broke off', Object.assign(new Error('stream'), { code: 'ERR_HTTP2_STREAM_ERROR' })],
  ['a session of HTTP/2 that broke off', Object.assign(new Error('session'), { code: 'ERR_HTTP2_SESSION_ERROR' })],
  ['a deadline of gRPC', Object.assign(new Error('4 DEADLINE_EXCEEDED'), { code: 4, details: 'Deadline exceeded' })],
  [
    'one of many connections that was reset',
    new AggregateError([new Error('a'), Object.assign(new Error('b'), { code: 'ECONNRESET' })]),
  ],
  ['a fetch of node-fetch that took too long', Object.assign(new Error('late'), { type: 'request-timeout' })],
  ['a gateway that gave up', Object.assign(new Error('Gateway Timeout'), { status: 504 })],
  ['a database that did not answer', Object.assign(new Error('late'), { name: 'MongoNetworkTimeoutError' })],
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
  ['a number for a code', Object.assign(new Error('exit'), { code: 4 })],
  ['a denial, whatever the reason', new DeniedError('unavailable', { cause: new UnavailableError('timeout', 'late') })],
  ['a server that failed', Object.assign(new Error('Internal Server Error'), { status: 500 })],
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
