import { sign } from 'node:crypto'
import type { PermitClaims } from '@countersign/contract'
import { any, createPermitVerifier, generateSigningKey, mintPermitSync, type SigningKey } from '@countersign/permit'
import { describe, expect, it, vi } from 'vitest'
import { verifyPermit } from './verify-permit.js'

const NOW = Date.parse('2026-11-21T10:00:10.000Z')
const key = generateSigningKey()
const jwks = { keys: [generateSigningKey().publicJwk, key.publicJwk] }
const CLAIMS: PermitClaims = {
  iss: 'http://127.0.0.1:8787',
  sub: 'agent:support-7',
  aud: 'http://127.0.0.1:8787',
  iat: NOW / 1000 - 10,
  exp: NOW / 1000 + 290,
  jti: 'dec_01kagx3v5ne8sr6w1y6gqk4t2h',
  action: 'payment.refund',
  resource: 'order:8812',
  effect: 'allow',
  policy_id: 'pol_01kagx3v5ne8sr6w1y6gqk4t2h',
  policy_revision: 1,
  amount: 42.5,
  unit: 'EUR',
  request_hash: 'A'.repeat(43),
  audit: { log: 'a1', index: 12, leaf: 'B'.repeat(43) },
}

const check = (token: string, nowMs = NOW) => verifyPermit(token, async () => jwks, nowMs)
const encoded = (text: string) => Buffer.from(text).toString('base64url')

/** A correctly signed token with any header and payload. */
function signed(header: string, payload: string, by: SigningKey = key): string {
  const unsigned = `${encoded(header)}.${encoded(payload)}`
  return `${unsigned}.${sign(null, Buffer.from(unsigned), by.privateKey).toString('base64url')}`
}

const header = (members: object) => JSON.stringify(members)
const HEADER = header({ alg: 'EdDSA', typ: 'permit+jwt', kid: key.kid })
const PAYLOAD = JSON.stringify(CLAIMS)
const GOOD = mintPermitSync(key, CLAIMS)
const [HEAD, BODY, SIGNATURE] = GOOD.split('.') as [string, string, string]

describe('a permit of this server', () => {
  it('is genuine, in its time and after it', async () => {
    expect(await check(GOOD)).toEqual({ result: 'genuine', claims: CLAIMS, time: 'in force' })
    const end = CLAIMS.exp * 1000
    expect(await check(GOOD, end - 1)).toMatchObject({ time: 'in force' })
    expect(await check(GOOD, end)).toMatchObject({ result: 'genuine', time: 'over' })
    const start = CLAIMS.iat * 1000
    expect(await check(GOOD, start - 5_000)).toMatchObject({ time: 'in force' })
    expect(await check(GOOD, start - 5_001)).toMatchObject({ result: 'genuine', time: 'not begun' })
  })
})

const BAD: readonly (readonly [what: string, token: string])[] = [
  ['nothing', ''],
  ['prose', 'not a permit'],
  ['two parts', `${HEAD}.${BODY}`],
  ['no signature', `${HEAD}.${BODY}.`],
  ['four parts', `${GOOD}.${SIGNATURE}`],
  ['padding', `${HEAD}.${BODY}.${SIGNATURE}==`],
  ['a blank', ` ${GOOD}`],
  ['a line break', `${GOOD}\n`],
  // The last character has four bits that belong to no byte: 0000 in the one spelling.
  ['loose bits', GOOD.slice(0, -1) + String.fromCharCode(GOOD.charCodeAt(GOOD.length - 1) + 1)],
  ['plain base64', `${HEAD}.${BODY}.${SIGNATURE.slice(0, -2)}+/`],
  ['too long', `${HEAD}.${BODY}${'A'.repeat(8192)}.${SIGNATURE}`],
  ['another payload', `${HEAD}.${encoded(JSON.stringify({ ...CLAIMS, amount: 4250 }))}.${SIGNATURE}`],
  ['another signature', `${HEAD}.${BODY}.${signed(HEADER, '{}').split('.')[2]}`],
  ['a key of somebody else', signed(HEADER, PAYLOAD, generateSigningKey())],
  ['an unknown kid', signed(header({ alg: 'EdDSA', typ: 'permit+jwt', kid: 'other' }), PAYLOAD)],
  ['no kid', signed(header({ alg: 'EdDSA', typ: 'permit+jwt' }), PAYLOAD)],
  ['alg none', `${encoded(header({ alg: 'none', typ: 'permit+jwt', kid: key.kid }))}.${BODY}.${SIGNATURE}`],
  ['alg HS256', signed(header({ alg: 'HS256', typ: 'permit+jwt', kid: key.kid }), PAYLOAD)],
  ['another typ', signed(header({ alg: 'EdDSA', typ: 'JWT', kid: key.kid }), PAYLOAD)],
  [
    'a key in the header',
    signed(header({ alg: 'EdDSA', typ: 'permit+jwt', kid: key.kid, jwk: key.publicJwk }), PAYLOAD),
  ],
  ['a header with alg twice', signed(`{"alg":"none",${HEADER.slice(1)}`, PAYLOAD)],
  ['a header that is a list', signed('[]', PAYLOAD)],
  ['a payload with exp twice', signed(HEADER, `{"exp":9999999999,${PAYLOAD.slice(1)}`)],
  ['a payload that is no JSON', signed(HEADER, 'exp')],
  ['no claims', signed(HEADER, '{}')],
  ['no audit position', signed(HEADER, JSON.stringify({ ...CLAIMS, audit: null }))],
  ['an effect that lets nothing run', signed(HEADER, JSON.stringify({ ...CLAIMS, effect: 'deny' }))],
  ['a life over an hour', signed(HEADER, JSON.stringify({ ...CLAIMS, exp: CLAIMS.iat + 3601 }))],
]

describe('anything else', () => {
  it.each(BAD)('is refused: %s', async (_, token) => {
    expect(await check(token)).toEqual({ result: 'refused', why: expect.any(String) })
    const { iss: issuer, aud: audience } = CLAIMS
    const verifier = createPermitVerifier({ issuer, audience, jwks, now: () => NOW, seen: false })
    await expect(verifier.verify(token, { action: any, resource: any, allowLog: true })).rejects.toThrow()
  })

  it('is refused when one character differs', async () => {
    for (let at = 0; at < GOOD.length; at += 7) {
      const other = GOOD[at] === 'A' ? 'B' : 'A'
      expect((await check(GOOD.slice(0, at) + other + GOOD.slice(at + 1))).result, String(at)).toBe('refused')
    }
  })
})

describe('a browser that cannot tell', () => {
  it('says so', async () => {
    const importKey = vi.spyOn(crypto.subtle, 'importKey').mockRejectedValue(new DOMException('', 'NotSupportedError'))
    await expect(check(GOOD)).rejects.toThrow('Ed25519')
    importKey.mockRestore()
    vi.stubGlobal('crypto', {})
    await expect(check(GOOD)).rejects.toThrow('HTTPS')
    vi.unstubAllGlobals()
  })
})
