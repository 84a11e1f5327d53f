import { createPublicKey, verify } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { describe, expect, test } from 'vitest'
import { mintPermitSync } from './mint.js'
import { exportSigningKey, generateSigningKey, importSigningKey, type PrivateJwk } from './signing-key.js'

/** RFC 8037 appendix A.1 to A.3. */
const RFC_8037: PrivateJwk = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
  kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  alg: 'EdDSA',
  use: 'sig',
}

describe('a signing key', () => {
  test('is named by its thumbprint', async () => {
    const key = generateSigningKey()
    expect(key.kid).toBe(await calculateJwkThumbprint(key.publicJwk))
    expect(importSigningKey(RFC_8037).kid).toBe(RFC_8037.kid)
  })

  test('publishes nothing of its secret', () => {
    const { publicJwk } = generateSigningKey()
    expect(Object.keys(publicJwk).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
  })

  test('comes back from its private JWK as the same key', () => {
    const key = generateSigningKey()
    const again = importSigningKey(exportSigningKey(key))
    expect(again.publicJwk).toEqual(key.publicJwk)
    expect(exportSigningKey(again)).toEqual(exportSigningKey(key))
    expect(exportSigningKey(importSigningKey(RFC_8037))).toEqual(RFC_8037)
  })

  test('signs what its public half verifies', () => {
    const key = importSigningKey(RFC_8037)
    const token = mintPermitSync(key, {
      iss: 'i',
      sub: 'agent:a',
      aud: 'a',
      iat: 0,
      exp: 1,
      jti: 'dec_1',
      action: 'a.b',
      resource: null,
      effect: 'allow',
      policy_id: 'pol_1',
      policy_revision: 1,
      request_hash: 'x'.repeat(43),
      audit: { log: 'a', index: 0, leaf: 'x'.repeat(43) },
    })
    const dot = token.lastIndexOf('.')
    const publicKey = createPublicKey({ format: 'jwk', key: { ...key.publicJwk } })
    expect(
      verify(null, Buffer.from(token.slice(0, dot)), publicKey, Buffer.from(token.slice(dot + 1), 'base64url')),
    ).toBe(true)
  })

  test.each([
    ['another public half', { x: exportSigningKey(generateSigningKey()).x }],
    ['another kid', { kid: 'mine' }],
    ['a short secret', { d: 'AAAA' }],
    ['no secret', { d: undefined }],
    ['another curve', { crv: 'Ed448' }],
    ['another kind', { kty: 'EC' }],
  ])('is not read from a JWK with %s', (_, changes) => {
    expect(() => importSigningKey({ ...RFC_8037, ...changes } as PrivateJwk)).toThrow(TypeError)
  })
})
