import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { generateWebhookSecret } from '../../webhook-secret.js'
import { secretsAt, signatureHeaders } from './signature.js'

const ID = 'evt_01kagx3v5ne8sr6w1y6gqk4t2h'

describe('the signature of a delivery', () => {
  it('is the one of the published example', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const body = Buffer.from('{"test": 2432232314}')
    const headers = signatureHeaders({ id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: new Date(1_614_265_330_000), body }, [
      secret,
    ])
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  it('passes the published library, whatever the body', () => {
    for (let draw = 0; draw < 200; draw++) {
      const secret = generateWebhookSecret()
      const body = Buffer.from(JSON.stringify({ text: randomBytes(draw).toString('latin1'), astral: '🦀 ä\u2028' }))
      const headers = signatureHeaders({ id: ID, at: new Date(), body }, [secret])
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body.toString()))
    }
  })

  it('is of the bytes, not of what they decode to', () => {
    const sign = (body: Buffer) => signatureHeaders({ id: ID, at: new Date(0), body }, [secret])['webhook-signature']
    const secret = generateWebhookSecret()
    expect(sign(Buffer.from([0xff]))).not.toBe(sign(Buffer.from([0xfe])))
  })

  it('has one for each secret that counts', () => {
    const [fresh, old, gone] = [generateWebhookSecret(), generateWebhookSecret(), generateWebhookSecret()]
    const secrets = secretsAt(
      [
        { text: fresh, expires_at: null },
        { text: old, expires_at: '2026-11-22T10:00:00.001Z' },
        { text: gone, expires_at: '2026-11-22T10:00:00.000Z' },
      ],
      '2026-11-22T10:00:00.000Z',
    )
    expect(secrets).toEqual([fresh, old])
    const body = Buffer.from('{}')
    const headers = signatureHeaders({ id: ID, at: new Date(), body }, secrets)
    expect(new Webhook(fresh).verify(body, headers)).toEqual({})
    expect(new Webhook(old).verify(body, headers)).toEqual({})
    expect(() => new Webhook(gone).verify(body, headers)).toThrow('No matching signature')
  })
})

describe('a secret', () => {
  it('is whsec_ and the base64 of 32 bytes, and never the same', () => {
    const secrets = Array.from({ length: 100 }, generateWebhookSecret)
    expect(new Set(secrets).size).toBe(100)
    for (const secret of secrets) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  })
})
