import { describe, expect, it } from 'vitest'
import { resolveOptions } from './options.js'

const SECRET = 'cs_sk_9q8w7e6r5t4y3u2i1o0p'
const given = { apiKey: SECRET }

function faultOf(options: object, environment: Record<string, string> = {}): string {
  try {
    resolveOptions('Countersign', options, {}, environment)
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    return (error as TypeError).message
  }
  throw new Error('it was taken')
}

describe('resolveOptions', () => {
  it('fills in the defaults', () => {
    expect(resolveOptions('Countersign', given, {}, {})).toEqual({
      baseUrl: 'http://127.0.0.1:8787',
      apiKey: SECRET,
      agentId: undefined,
      timeoutMs: 5000,
      connectTimeoutMs: 1000,
      maxRetries: 2,
      headers: {},
    })
  })

  it('takes what a class gives by getters, and nothing from Object.prototype', () => {
    class Config {
      get apiKey() {
        return SECRET
      }
      get agentId() {
        return 'agent:a'
      }
    }
    Object.defineProperty(Object.prototype, 'baseUrl', { value: 'http://example.test', configurable: true })
    try {
      const environment = { COUNTERSIGN_API_KEY: 'another-key' }
      const { apiKey, agentId, baseUrl } = resolveOptions('Countersign', new Config(), {}, environment)
      expect({ apiKey, agentId, baseUrl }).toEqual({
        apiKey: SECRET,
        agentId: 'agent:a',
        baseUrl: 'http://127.0.0.1:8787',
      })
    } finally {
      Reflect.deleteProperty(Object.prototype, 'baseUrl')
    }
  })

  it('takes from the environment what is not given', () => {
    const environment = {
      COUNTERSIGN_URL: 'https://pdp.example/',
      COUNTERSIGN_API_KEY: SECRET,
      COUNTERSIGN_AGENT_ID: 'agent:support-7',
    }
    expect(resolveOptions('Countersign', {}, {}, environment)).toMatchObject({
      baseUrl: 'https://pdp.example',
      apiKey: SECRET,
      agentId: 'agent:support-7',
    })
    const options = { baseUrl: 'http://localhost:1', apiKey: 'other', agentId: 'agent:two' }
    expect(resolveOptions('Countersign', options, {}, environment)).toMatchObject(options)
  })

  it('takes an empty variable for none', () => {
    const environment = { COUNTERSIGN_URL: '', COUNTERSIGN_AGENT_ID: '' }
    expect(resolveOptions('Countersign', given, {}, environment)).toMatchObject({
      baseUrl: 'http://127.0.0.1:8787',
      agentId: undefined,
    })
    expect(faultOf({}, { COUNTERSIGN_API_KEY: '' })).toContain('COUNTERSIGN_API_KEY')
  })

  it.each([
    ['https://pdp.example', 'https://pdp.example'],
    ['https://pdp.example:8443/', 'https://pdp.example:8443'],
    ['https://gateway.example/countersign/', 'https://gateway.example/countersign'],
    ['HTTP://[::1]:8787', 'http://[::1]:8787'],
  ])('takes the base address %s as %s', (baseUrl, kept) => {
    expect(resolveOptions('Countersign', { ...given, baseUrl }, {}, {}).baseUrl).toBe(kept)
  })

  it.each([
    ['baseUrl', { baseUrl: 'pdp.example' }],
    ['baseUrl', { baseUrl: '' }],
    ['baseUrl', { baseUrl: 'ftp://pdp.example' }],
    ['baseUrl', { baseUrl: 'http://user:hunter2@pdp.example' }],
    ['baseUrl', { baseUrl: 'http://pdp.example/?key=hunter2' }],
    ['baseUrl', { baseUrl: 'http://pdp.example/#hunter2' }],
    ['baseUrl', { baseUrl: 8787 }],
    ['apiKey', { apiKey: '' }],
    ['apiKey', { apiKey: undefined }],
    ['apiKey', { apiKey: `${SECRET}\n` }],
    ['apiKey', { apiKey: `${SECRET} ` }],
    ['apiKey', { apiKey: [SECRET] }],
    ['agentId', { agentId: '' }],
    ['agentId', { agentId: 7 }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: -1 }],
    ['timeoutMs', { timeoutMs: Number.NaN }],
    ['timeoutMs', { timeoutMs: Number.POSITIVE_INFINITY }],
    ['timeoutMs', { timeoutMs: '5000' }],
    ['timeoutMs', { timeoutMs: 2 ** 31 }],
    ['connectTimeoutMs', { connectTimeoutMs: 0 }],
    ['maxRetries', { maxRetries: -1 }],
    ['maxRetries', { maxRetries: 1.5 }],
    ['maxRetries', { maxRetries: 11 }],
    ['maxRetries', { maxRetries: '2' }],
    ['headers', { headers: 'x-team: one' }],
    ['headers', { headers: { 'x team': 'one' } }],
    ['headers.x-team', { headers: { 'x-team': `${SECRET}\r\nx-other: 1` } }],
    ['headers.x-team', { headers: { 'x-team': 1 } }],
    ['Authorization', { headers: { Authorization: `Bearer ${SECRET}` } }],
    ['Idempotency-Key', { headers: { 'Idempotency-Key': 'one' } }],
    ['apikey', { apikey: SECRET }],
  ])('refuses a faulty %s by name, without showing a secret: %j', (name, fault) => {
    const message = faultOf({ ...given, ...fault })
    expect(message).toContain(name)
    expect(message).not.toContain(SECRET)
    expect(message).not.toContain('hunter2')
  })

  it('takes headers of the caller, whatever the case of their names', () => {
    expect(resolveOptions('Countersign', { ...given, headers: { 'X-Team': 'payments' } }, {}, {}).headers).toEqual({
      'x-team': 'payments',
    })
  })
})
