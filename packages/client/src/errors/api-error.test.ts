import { describe, expect, it } from 'vitest'
import { ApiError, type ApiErrorFields } from './api-error.js'

const invalid = (errors: ApiErrorFields['errors']) =>
  new ApiError('POST /v1/decisions', {
    status: 400,
    code: 'validation_failed',
    title: 'The request is not valid.',
    detail: '2 problems found; see `errors`.',
    request_id: null,
    errors,
    current_status: null,
    retryAfterSeconds: null,
  }).message

describe('the message of an ApiError', () => {
  it('names the first faulty place', () => {
    expect(invalid([{ pointer: '/action', detail: 'is missing' }])).toBe(
      'POST /v1/decisions: 400 validation_failed: /action is missing',
    )
  })

  it('says how many more there are', () => {
    const faults = ['/action', '/resource', '/contxt'].map((pointer) => ({ pointer, detail: 'is missing' }))
    expect(invalid(faults)).toBe('POST /v1/decisions: 400 validation_failed: /action is missing (and 2 places more)')
  })

  it('calls the whole of a body by its name', () => {
    expect(invalid([{ pointer: '', detail: 'must be an object' }])).toContain('the body must be an object')
  })

  it('forges no line of a log', () => {
    const message = invalid([{ pointer: '/context/a\nERROR: all is well', detail: 'is not a member' }])
    expect(message.split('\n')).toHaveLength(1)
  })

  it('says what the problem says where there is no place', () => {
    expect(invalid([])).toBe('POST /v1/decisions: 400 validation_failed: 2 problems found; see `errors`.')
  })
})
