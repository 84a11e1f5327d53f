import {
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoParseError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb'
import { describe, expect, test } from 'vitest'
import { StoreUnavailableError } from '../../../ports/store/errors.js'
import { isLate, mongoFailure } from './failure.js'

const refusal = (code: number, codeName: string) =>
  new MongoServerError({ code, codeName, errmsg: `${codeName} it is` })
const wrapped = (cause: Error) => new StoreUnavailableError('The store did not answer.', { cause })

describe('why a MongoDB cannot be used', () => {
  test.each([
    [refusal(18, 'AuthenticationFailed'), 'it rejected the user or the password'],
    [refusal(13, 'Unauthorized'), 'the user lacks the role readWrite on the database'],
    [
      refusal(85, 'IndexOptionsConflict'),
      'an existing index differs from the required one (IndexOptionsConflict it is)',
    ],
    [refusal(59, 'CommandNotFound'), 'it rejected a command (CommandNotFound)'],
    [
      new MongoNetworkError('connection 1 to 10.0.0.1:27017 closed'),
      'the connection broke; check the network and the log of MongoDB',
    ],
    [new MongoNetworkTimeoutError('user:password'), 'it did not answer in time'],
    [new MongoParseError('user:password'), 'the hosts or options in MONGODB_URL exclude each other; check them'],
    [
      Object.assign(new Error('querySrv ENOTFOUND password'), { code: 'ENOTFOUND', syscall: 'querySrv' }),
      'DNS did not find its hosts (ENOTFOUND); check the hosts in MONGODB_URL',
    ],
    [
      Object.assign(new Error("ENOENT, open 'password'"), { code: 'ENOENT', syscall: 'open' }),
      'a file named in MONGODB_URL cannot be read (ENOENT); check the tls options',
    ],
    [
      Object.assign(new Error('bad decrypt'), { code: 'ERR_OSSL_BAD_DECRYPT' }),
      'TLS failed (ERR_OSSL_BAD_DECRYPT); check the certificates and keys named in MONGODB_URL',
    ],
    [Object.assign(new Error('password'), { code: 'EPIPE' }), 'it cannot be used (EPIPE)'],
    [Object.assign(new Error('password'), { code: 'a password' }), 'it cannot be used (Error)'],
    [new URIError('mongodb://user:password@host'), 'it cannot be used (URIError)'],
  ])('%s is told, also where it is the cause of another', (error, told) => {
    for (const one of [error, wrapped(error)])
      expect(mongoFailure('mongodb://user:password@host/name', one)).toBe(`MongoDB at host/name: ${told}.`)
  })
})

describe('whether MongoDB may answer later', () => {
  const notFound = (error: Error | null) => {
    const selection = new MongoServerSelectionError('Server selection timed out after 2000 ms', {} as never)
    return wrapped(Object.assign(selection, { reason: { servers: new Map([['host:27017', { error }]]) } }))
  }
  const refused = new MongoNetworkError('connect ECONNREFUSED 127.0.0.1:9')

  test.each([
    [true, 'nobody answered, and nothing says why', notFound(null)],
    [true, 'nobody answered in time', notFound(new MongoNetworkTimeoutError('connection timed out'))],
    [true, 'an answer did not come in time', wrapped(new MongoNetworkTimeoutError('connection timed out'))],
    [false, 'nobody is there', notFound(refused)],
    [false, 'the connection broke', wrapped(refused)],
    [false, 'it refuses the user', wrapped(refusal(18, 'AuthenticationFailed'))],
    [false, 'no error of MongoDB', new Error('anything')],
  ])('%s: %s', (expected, _, error) => {
    expect(isLate(error)).toBe(expected)
  })
})
