import {
  any,
  createPermitVerifier,
  createSeenPermits,
  mintPermit,
  mintPermitSync,
  type PermitClaims,
  PermitError,
  type PermitExpectations,
} from '@countersign/permit'
import { describe, expect, test } from 'vitest'
import {
  anything,
  claims,
  expected,
  header,
  key,
  keySet,
  NOW_SECONDS,
  nextKey,
  now,
  request,
  signToken,
  verifierWith,
} from './permit-fixture.js'

const mintWith = (changes: Partial<PermitClaims>) => mintPermitSync(key, { ...claims, ...changes })

describe('minting', () => {
  test('gives exactly the header of a permit and the claims as they are', async () => {
    const token = await mintPermit(key, claims)
    const [head = '', payload = ''] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString())
    expect(head).toBe(`{"alg":"EdDSA","typ":"permit+jwt","kid":"${key.kid}"}`)
    expect(JSON.parse(payload)).toEqual(claims)
  })

  test('gives the same token on either thread', async () => {
    expect(await mintPermit(key, claims)).toBe(mintPermitSync(key, claims))
  })

  test.each([
    ['a denied decision', { effect: 'deny' }],
    ['a life over 1 h', { exp: NOW_SECONDS + 3601 }],
    ['an empty issuer', { iss: '' }],
    ['a fraction of a second', { exp: NOW_SECONDS + 0.5 }],
    ['an absent leaf', { audit: { log: 'a1', index: 0 } }],
  ])('refuses %s', async (_, changes) => {
    const refused = { ...claims, ...changes } as PermitClaims
    await expect(mintPermit(key, refused)).rejects.toThrow(TypeError)
    expect(() => mintPermitSync(key, refused)).toThrow(TypeError)
  })
})

describe('a good permit passes', () => {
  test.each<[string, Partial<PermitClaims>, PermitExpectations]>([
    ['of effect allow', {}, expected],
    ['of a claimed review', { effect: 'review' }, expected],
    ['of effect log, when asked for', { effect: 'log' }, { ...expected, allowLog: true }],
    ['without a resource', { resource: null }, { ...expected, resource: null }],
    ['for any action', {}, { ...expected, action: any }],
    ['for any resource', {}, { ...expected, resource: any }],
    ['for any resource, without one', { resource: null }, anything],
    [
      'with everything compared',
      {},
      { ...expected, agent_id: request.agent_id, amount: 42.5, unit: 'eur', request_hash: claims.request_hash },
    ],
    ['in its last second', { iat: NOW_SECONDS - 299, exp: NOW_SECONDS + 1 }, expected],
    ['5 s from the future', { iat: NOW_SECONDS + 5 }, expected],
    ['of a whole hour', { exp: NOW_SECONDS + 3600 }, expected],
    ['with names beyond ASCII', { resource: 'kunde:Zoë/😀' }, { ...expected, resource: 'kunde:Zoë/😀' }],
  ])('%s', async (_, changes, wanted) => {
    await expect(verifierWith().verify(mintWith(changes), wanted)).resolves.toEqual({ ...claims, ...changes })
  })

  test('signed by the next key of the set', async () => {
    await expect(verifierWith().verify(mintPermitSync(nextKey, claims), expected)).resolves.toEqual(claims)
  })

  test('with a claim that this version does not know', async () => {
    const token = signToken(header, { ...claims, later: 1 })
    await expect(verifierWith().verify(token, expected)).resolves.toEqual({ ...claims, later: 1 })
  })

  test('until the millisecond before exp, and no longer', async () => {
    const token = mintWith({})
    const verifyAt = (ms: number) => verifierWith({ now: () => ms }).verify(token, expected)
    await expect(verifyAt(claims.exp * 1000 - 1)).resolves.toEqual(claims)
    await expect(verifyAt(claims.exp * 1000)).rejects.toMatchObject({ code: 'expired' })
  })
})

describe('what the caller expects', () => {
  test.each([
    [{ resource: 'order:8812' }, 'action'],
    [{ action: 'payment.refund' }, 'resource'],
    [{ ...expected, action: undefined }, 'action'],
    [{ ...expected, agent_id: undefined }, 'agent_id'],
    [{ ...expected, request_hash: undefined }, 'request_hash'],
  ])('%o is refused: %s is not known', async (wanted, member) => {
    const refusal = verifierWith().verify(mintWith({}), wanted as PermitExpectations)
    await expect(refusal).rejects.toMatchObject({
      code: 'expectation_missing',
      message: expect.stringContaining(member),
    })
  })

  test('a clock that gives no number lets nothing pass', async () => {
    const broken = verifierWith({ now: () => Number.NaN })
    await expect(broken.verify(mintWith({}), expected)).rejects.toMatchObject({ code: 'expired' })
  })

  test.each([
    ['issuer', { issuer: '' }],
    ['audience', { audience: '' }],
    ['key set', { jwks: { keys: 'none' } as never }],
    ['key set URL', { jwks: 'file:///keys.json' }],
    ['key set URL', { jwks: 'keys.json' }],
  ])('a verifier without %s is not made', (_, options) => {
    expect(() => createPermitVerifier({ issuer: 'i', audience: 'a', jwks: keySet, ...options })).toThrow(TypeError)
  })
})

describe('who mends it is told by the message', () => {
  const messageOf = async (changes: object, options: object = {}) =>
    verifierWith(options)
      .verify(mintWith(changes), expected)
      .then(
        () => 'it was taken',
        ({ message }) => message,
      )

  test('which issuer or audience the permit has, and which is taken', async () => {
    expect(await messageOf({}, { issuer: 'https://other.example' })).toBe(
      'The permit is from the issuer "https://decide.example", not "https://other.example".',
    )
    expect(await messageOf({ aud: 'a\n' })).toBe('The permit is for the audience "a\\n", not "https://pay.example".')
    expect((await messageOf({ aud: 'a'.repeat(5000) })).length).toBeLessThan(300)
  })

  test('how far the clock is from the life of the permit', async () => {
    expect(await messageOf({ iat: NOW_SECONDS - 900, exp: NOW_SECONDS - 600 })).toBe(
      'The permit has expired, 600 s ago by the clock of this machine.',
    )
    expect(await messageOf({ iat: NOW_SECONDS + 600, exp: NOW_SECONDS + 900 })).toBe(
      'The permit was issued in the future, 600 s ahead by the clock of this machine.',
    )
  })
})

describe('a permit passes once', () => {
  test('and is refused when it is shown again', async () => {
    const verifier = createPermitVerifier({ issuer: claims.iss, audience: claims.aud, jwks: keySet, now })
    await expect(verifier.verify(mintWith({}), expected)).resolves.toEqual(claims)
    await expect(verifier.verify(mintWith({}), expected)).rejects.toMatchObject({ code: 'already_seen' })
    await expect(verifier.verify(mintWith({ jti: 'dec_2' }), expected)).resolves.toMatchObject({ jti: 'dec_2' })
  })

  test('when it is shown many times at once', async () => {
    const verifier = verifierWith({ seen: createSeenPermits({ now }) })
    const token = mintWith({})
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => verifier.verify(token, expected)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  test('a refused attempt does not use it up', async () => {
    const verifier = verifierWith({ seen: createSeenPermits({ now }) })
    await expect(verifier.verify(mintWith({}), { ...expected, action: 'payment.create' })).rejects.toThrow(PermitError)
    await expect(verifier.verify(mintWith({}), expected)).resolves.toEqual(claims)
  })

  test('in all verifiers that share a memory', async () => {
    const seen = createSeenPermits({ now })
    await verifierWith({ seen }).verify(mintWith({}), expected)
    await expect(verifierWith({ seen }).verify(mintWith({}), expected)).rejects.toMatchObject({ code: 'already_seen' })
  })

  test('as often as it is shown when the memory is switched off', async () => {
    const verifier = verifierWith({ seen: false })
    await verifier.verify(mintWith({}), expected)
    await expect(verifier.verify(mintWith({}), expected)).resolves.toEqual(claims)
  })

  test('not at all when the memory is full', async () => {
    const verifier = createPermitVerifier({ issuer: claims.iss, audience: claims.aud, jwks: keySet, now, maxSeen: 1 })
    await verifier.verify(mintWith({}), expected)
    await expect(verifier.verify(mintWith({ jti: 'dec_2' }), expected)).rejects.toMatchObject({
      code: 'replay_check_failed',
    })
  })

  test('not at all when a shared memory fails', async () => {
    const cause = new Error('the store is gone')
    const verifier = verifierWith({ seen: { add: () => Promise.reject(cause) } })
    await expect(verifier.verify(mintWith({}), expected)).rejects.toMatchObject({ code: 'replay_check_failed', cause })
  })
})
