import { expect, test, vi } from 'vitest'
import { PermitError } from './permit-error.js'

test('an error of another installed copy is known by instanceof', async () => {
  vi.resetModules()
  const copy = await import('./permit-error.js')
  expect(copy.PermitError).not.toBe(PermitError)
  expect(new copy.PermitError('expired', 'It is over.')).toBeInstanceOf(PermitError)
  expect(new PermitError('expired', 'It is over.')).toBeInstanceOf(copy.PermitError)
})

test('another error is none', () => {
  expect(new Error('expired')).not.toBeInstanceOf(PermitError)
  expect({ name: 'PermitError', code: 'expired' }).not.toBeInstanceOf(PermitError)
})

test('says its code and its cause', () => {
  const cause = new Error('why')
  const error = new PermitError('expired', 'It is over.', { cause })
  expect(error).toMatchObject({ name: 'PermitError', code: 'expired', message: 'It is over.', cause })
  expect(error).toBeInstanceOf(Error)
})
