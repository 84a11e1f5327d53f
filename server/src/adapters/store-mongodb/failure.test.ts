import { MongoNetworkError, MongoServerError } from 'mongodb'
import { describe, expect, test } from 'vitest'
import { StoreUnavailableError } from '../../ports/store.js'
import { mongoFailure } from './failure.js'

const refusal = (code: number, codeName: string) =>
  new MongoServerError({ code, codeName, errmsg: `${codeName} it is` })
const wrapped = (cause: Error) => new StoreUnavailableError('The store did not answer.', { cause })

describe('why a MongoDB cannot be used', () => {
  test.each([
    [refusal(18, 'AuthenticationFailed'), 'it refuses the user or the password'],
    [refusal(13, 'Unauthorized'), 'the user has not the rights that it needs (readWrite on the database)'],
    [refusal(85, 'IndexOptionsConflict'), 'an index that is there is not as it has to be (IndexOptionsConflict it is)'],
    [refusal(59, 'CommandNotFound'), 'it refuses a command (CommandNotFound)'],
    [new MongoNetworkError('connection 1 to 10.0.0.1:27017 closed'), 'it cannot be used (MongoNetworkError)'],
    [new URIError('mongodb://user:password@host'), 'it cannot be used (URIError)'],
  ])('%s is told, also where it is the cause of another', (error, told) => {
    for (const one of [error, wrapped(error)])
      expect(mongoFailure('mongodb://user:password@host/name', one)).toBe(`MongoDB at host/name: ${told}.`)
  })
})
