import { mintPermit, mintPermitSync, type PermitClaims, PermitError } from '@countersign/permit'
import fc from 'fast-check'
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import {
  AUDIENCE,
  anything,
  claims,
  expected,
  ISSUER,
  key,
  keySet,
  NOW_SECONDS,
  nextKey,
  verifierWith,
} from './permit-fixture.js'

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 64 })

const permitClaims: fc.Arbitrary<PermitClaims> = fc
  .record({
    sub: text,
    iat: fc.integer({ min: NOW_SECONDS - 300, max: NOW_SECONDS }),
    exp: fc.integer({ min: NOW_SECONDS + 1, max: NOW_SECONDS + 3300 }),
    jti: text,
    action: text,
    resource: fc.option(text),
    effect: fc.constantFrom('allow' as const, 'log' as const, 'review' as const),
    policy_revision: fc.nat(),
    amount: fc.double({ min: 0, max: 1e12, noNaN: true }).map((amount) => amount + 0),
    unit: text,
  })
  .map((changes) => ({ ...claims, ...changes }))

describe('whatever a permit says', () => {
  test('plain jose verifies it with the key set, and so do we', async () => {
    const getKey = createLocalJWKSet(keySet)
    const verifier = verifierWith()
    await fc.assert(
      fc.asyncProperty(permitClaims, fc.constantFrom(key, nextKey), async (minted, by) => {
        const token = await mintPermit(by, minted)
        const { payload, protectedHeader } = await jwtVerify(token, getKey, {
          issuer: ISSUER,
          audience: AUDIENCE,
          typ: 'permit+jwt',
          algorithms: ['EdDSA'],
          currentDate: new Date(NOW_SECONDS * 1000),
        })
        expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'permit+jwt', kid: by.kid })
        expect(payload).toEqual(minted)
        await expect(verifier.verify(token, { ...anything, allowLog: true })).resolves.toEqual(minted)
      }),
      { numRuns: 200 },
    )
  })

  test('jose signs it into the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(permitClaims, async (minted) => {
        const byJose = new SignJWT({ ...minted }).setProtectedHeader({ alg: 'EdDSA', typ: 'permit+jwt', kid: key.kid })
        expect(mintPermitSync(key, minted)).toBe(await byJose.sign(key.privateKey))
      }),
      { numRuns: 100 },
    )
  })
})

describe('a permit that was touched', () => {
  const token = mintPermitSync(key, claims)
  const verifier = verifierWith()
  const isRefused = async (touched: string) => {
    const outcome = await verifier.verify(touched, expected).catch((error: unknown) => error)
    return outcome instanceof PermitError
  }

  test('is refused whichever single bit was flipped', async () => {
    await expect(verifier.verify(token, expected)).resolves.toEqual(claims)
    const flips = Array.from({ length: token.length * 8 }, (_, bit) => bit)
    const passed: number[] = []
    for (const bit of flips) if (!(await isRefused(withFlippedBit(token, bit)))) passed.push(bit)
    expect(passed).toEqual([])
  })

  test('is refused however it was cut, repeated or mixed up', async () => {
    const position = fc.nat(token.length)
    const edit = fc.record({
      from: position,
      to: position,
      text: fc.oneof(fc.string(), fc.constantFrom('.', '=', 'A', '-_')),
    })
    await fc.assert(
      fc.asyncProperty(edit, async ({ from, to, text: inserted }) => {
        const touched = token.slice(0, from) + inserted + token.slice(to)
        fc.pre(touched !== token)
        return await isRefused(touched)
      }),
      { numRuns: 1000 },
    )
  })
})

function withFlippedBit(token: string, bit: number): string {
  const at = bit >> 3
  const flipped = String.fromCharCode(token.charCodeAt(at) ^ (1 << (bit & 7)))
  return token.slice(0, at) + flipped + token.slice(at + 1)
}
