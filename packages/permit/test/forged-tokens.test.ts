import { createHmac, createPublicKey, generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto'
import {
  generateSigningKey,
  mintPermitSync,
  PermitError,
  type PermitErrorCode,
  type PermitExpectations,
  type PermitVerifierOptions,
} from '@countersign/permit'
import { describe, expect, test } from 'vitest'
import {
  AUDIENCE,
  claims,
  encode,
  expected,
  header,
  ISSUER,
  key,
  keySet,
  NOW_SECONDS,
  nextKey,
  signToken,
  verifierWith,
} from './permit-fixture.js'

interface Forgery {
  readonly name: string
  readonly code: PermitErrorCode
  readonly token: string
  readonly expected?: Partial<PermitExpectations>
  readonly options?: Partial<PermitVerifierOptions>
}

const good = mintPermitSync(key, claims)
const [goodHeader = '', goodPayload = '', goodSignature = ''] = good.split('.')
const stranger = generateSigningKey()
const payloadText = JSON.stringify(claims)
const publicKey = createPublicKey(key.privateKey)
const publicPem = publicKey.export({ format: 'pem', type: 'spki' }) as string
const publicBytes = Buffer.from(key.publicJwk.x, 'base64url')

const withClaims = (changes: object) => signToken(header, { ...claims, ...changes })
const withoutClaim = (claim: string) =>
  signToken(header, Object.fromEntries(Object.entries(claims).filter(([name]) => name !== claim)))
const withHeader = (changes: object) => signToken({ ...header, ...changes }, claims)

function hs256(secret: string | Buffer): string {
  const input = `${encode({ ...header, alg: 'HS256' })}.${goodPayload}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ecJwk = { ...ec.publicKey.export({ format: 'jwk' }), kid: 'ec', use: 'sig' } as JsonWebKey & { kty: string }
function es256(alg: string): string {
  const input = `${encode({ ...header, alg, kid: 'ec' })}.${goodPayload}`
  return `${input}.${sign('sha256', Buffer.from(input), { key: ec.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

/** The order of the group that Ed25519 works in: s + order is the same signature to a careless verifier. */
const GROUP_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
function withMalleatedSignature(): string {
  const signature = Buffer.from(goodSignature, 'base64url')
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + GROUP_ORDER
  const grown = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()
  return `${goodHeader}.${goodPayload}.${Buffer.concat([signature.subarray(0, 32), grown]).toString('base64url')}`
}

/** Sets a bit that decoders drop: 64 bytes of signature leave the last of 86 letters four loose bits. */
function withLooseBits(part: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.at(-1) as string) + 1]
}

const form: Forgery[] = [
  ['two parts', `${goodHeader}.${goodPayload}`],
  ['four parts', `${good}.${goodSignature}`],
  ['a fourth, empty part', `${good}.`],
  ['no parts', ''],
  ['an empty header', `.${goodPayload}.${goodSignature}`],
  ['an empty payload', `${goodHeader}..${goodSignature}`],
  ['an empty signature', `${goodHeader}.${goodPayload}.`],
  ['a padded signature', `${good}==`],
  ['a padded header', `${goodHeader}=.${goodPayload}.${goodSignature}`],
  ['a stripped letter of the signature', good.slice(0, -1)],
  ['loose bits after the signature', `${goodHeader}.${goodPayload}.${withLooseBits(goodSignature)}`],
  ['a blank in front', ` ${good}`],
  ['a line end behind', `${good}\n`],
  ['a blank inside the payload', `${goodHeader}.${goodPayload.slice(0, 8)} ${goodPayload.slice(8)}.${goodSignature}`],
  [
    'a line end inside the signature',
    `${goodHeader}.${goodPayload}.${goodSignature.slice(0, 8)}\n${goodSignature.slice(8)}`,
  ],
  ['a NUL behind', `${good}\0`],
  [
    'base64 instead of base64url',
    `${goodHeader}.${goodPayload}.${Buffer.alloc(64, 0xff).toString('base64').slice(0, 86)}`,
  ],
  ['letters beyond ASCII', `${goodHeader}.${goodPayload}.é${goodSignature.slice(1)}`],
  ['the JSON serialization', JSON.stringify({ protected: goodHeader, payload: goodPayload, signature: goodSignature })],
].map(([name, token]) => ({ name, token, code: 'token_malformed' }) as Forgery)

const size: Forgery[] = [
  { name: 'more than 8 KiB', code: 'token_too_large', token: withClaims({ note: 'x'.repeat(8192) }) },
  { name: 'a megabyte of dots', code: 'token_too_large', token: '.'.repeat(1_000_000) },
]

const headers: Forgery[] = [
  {
    name: 'alg none without signature',
    code: 'token_malformed',
    token: `${encode({ ...header, alg: 'none' })}.${goodPayload}.`,
  },
  { name: 'alg none with a signature', code: 'algorithm_not_allowed', token: withHeader({ alg: 'none' }) },
  { name: 'alg NONE', code: 'algorithm_not_allowed', token: withHeader({ alg: 'NONE' }) },
  { name: 'alg in other case', code: 'algorithm_not_allowed', token: withHeader({ alg: 'eddsa' }) },
  { name: 'alg Ed25519', code: 'algorithm_not_allowed', token: withHeader({ alg: 'Ed25519' }) },
  { name: 'alg missing', code: 'algorithm_not_allowed', token: signToken({ typ: 'permit+jwt', kid: key.kid }, claims) },
  { name: 'alg in a list', code: 'algorithm_not_allowed', token: withHeader({ alg: ['EdDSA'] }) },
  { name: 'HS256 with the bytes of the public key', code: 'algorithm_not_allowed', token: hs256(publicBytes) },
  { name: 'HS256 with the PEM of the public key', code: 'algorithm_not_allowed', token: hs256(publicPem) },
  {
    name: 'HS256 with the JWK of the public key',
    code: 'algorithm_not_allowed',
    token: hs256(JSON.stringify(key.publicJwk)),
  },
  {
    name: 'ES256 by a key of the set',
    code: 'algorithm_not_allowed',
    token: es256('ES256'),
    options: { jwks: { keys: [ecJwk] } },
  },
  {
    name: 'EdDSA said of an ES256 key',
    code: 'key_unusable',
    token: es256('EdDSA'),
    options: { jwks: { keys: [ecJwk] } },
  },
  {
    name: 'a secret key in the set',
    code: 'key_unusable',
    token: good,
    options: { jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: key.kid }] } },
  },
  {
    name: 'a key for encryption',
    code: 'key_unusable',
    token: good,
    options: { jwks: { keys: [{ ...key.publicJwk, use: 'enc' }] } },
  },
  {
    name: 'a kid that two keys have',
    code: 'key_unusable',
    token: good,
    options: { jwks: { keys: [key.publicJwk, { ...nextKey.publicJwk, kid: key.kid }] } },
  },
  { name: 'typ JWT', code: 'type_not_allowed', token: withHeader({ typ: 'JWT' }) },
  { name: 'typ with its tree', code: 'type_not_allowed', token: withHeader({ typ: 'application/permit+jwt' }) },
  { name: 'typ in other case', code: 'type_not_allowed', token: withHeader({ typ: 'Permit+JWT' }) },
  { name: 'typ missing', code: 'type_not_allowed', token: signToken({ alg: 'EdDSA', kid: key.kid }, claims) },
  { name: 'crit', code: 'header_member_not_allowed', token: withHeader({ crit: ['exp'] }) },
  { name: 'b64 with crit', code: 'header_member_not_allowed', token: withHeader({ b64: false, crit: ['b64'] }) },
  { name: 'b64 alone', code: 'header_member_not_allowed', token: withHeader({ b64: true }) },
  { name: 'jku', code: 'header_member_not_allowed', token: withHeader({ jku: 'https://evil.example/jwks.json' }) },
  { name: 'x5u', code: 'header_member_not_allowed', token: withHeader({ x5u: 'https://evil.example/chain.pem' }) },
  { name: 'x5c', code: 'header_member_not_allowed', token: withHeader({ x5c: ['MIIB'] }) },
  { name: 'x5t', code: 'header_member_not_allowed', token: withHeader({ x5t: 'abc' }) },
  {
    name: 'jwk, signed with that key',
    code: 'header_member_not_allowed',
    token: signToken({ ...header, jwk: stranger.publicJwk }, claims, stranger.privateKey),
  },
  { name: 'cty', code: 'header_member_not_allowed', token: withHeader({ cty: 'json' }) },
  { name: 'zip', code: 'header_member_not_allowed', token: withHeader({ zip: 'DEF' }) },
  { name: 'a member of our own', code: 'header_member_not_allowed', token: withHeader({ __note: 1 }) },
  { name: 'kid missing', code: 'header_invalid', token: signToken({ alg: 'EdDSA', typ: 'permit+jwt' }, claims) },
  { name: 'kid empty', code: 'header_invalid', token: withHeader({ kid: '' }) },
  { name: 'kid no text', code: 'header_invalid', token: withHeader({ kid: 7 }) },
  {
    name: 'kid given twice',
    code: 'header_invalid',
    token: signToken(`{"alg":"EdDSA","typ":"permit+jwt","kid":"x","kid":"${key.kid}"}`, claims),
  },
  {
    name: 'alg given twice, once escaped',
    code: 'header_invalid',
    token: signToken(`{"\\u0061lg":"none",${JSON.stringify(header).slice(1)}`, claims),
  },
  { name: 'a header that is no JSON', code: 'header_invalid', token: signToken('EdDSA', claims) },
  { name: 'a header that is a list', code: 'header_invalid', token: signToken('["EdDSA"]', claims) },
  { name: 'a header that is null', code: 'header_invalid', token: signToken('null', claims) },
  {
    name: 'a header with a byte order mark',
    code: 'header_invalid',
    token: signToken(`\ufeff${JSON.stringify(header)}`, claims),
  },
]

const keys: Forgery[] = [
  { name: 'a kid of nobody', code: 'key_unknown', token: withHeader({ kid: 'nobody' }) },
  { name: 'a kid that is a path', code: 'key_unknown', token: withHeader({ kid: '../../dev/null' }) },
  { name: 'a kid that every object has', code: 'key_unknown', token: withHeader({ kid: 'constructor' }) },
  { name: 'a kid in other case', code: 'key_unknown', token: withHeader({ kid: key.kid.toUpperCase() }) },
  { name: 'a kid with a blank', code: 'key_unknown', token: withHeader({ kid: `${key.kid} ` }) },
  { name: 'a stranger under his own kid', code: 'key_unknown', token: mintPermitSync(stranger, claims) },
  { name: 'an empty key set', code: 'key_unknown', token: good, options: { jwks: { keys: [] } } },
]

const signatures: Forgery[] = [
  ['a stranger under our kid', signToken(header, claims, stranger.privateKey)],
  ['the kid of another key of the set', withHeader({ kid: nextKey.kid })],
  ['the signature of the next key', signToken(header, claims, nextKey.privateKey)],
  ['another payload under the signature', `${goodHeader}.${encode({ ...claims, amount: 4250 })}.${goodSignature}`],
  [
    'another header under the signature',
    `${encode({ kid: key.kid, typ: 'permit+jwt', alg: 'EdDSA' })}.${goodPayload}.${goodSignature}`,
  ],
  [
    'the signature of another permit',
    `${goodHeader}.${goodPayload}.${mintPermitSync(key, { ...claims, jti: 'dec_2' }).split('.')[2]}`,
  ],
  ['zeros for a signature', `${goodHeader}.${goodPayload}.${Buffer.alloc(64).toString('base64url')}`],
  ['one byte for a signature', `${goodHeader}.${goodPayload}.AA`],
  [
    'a signature of 63 bytes',
    `${goodHeader}.${goodPayload}.${Buffer.from(goodSignature, 'base64url').subarray(0, 63).toString('base64url')}`,
  ],
  [
    'a signature of 65 bytes',
    `${goodHeader}.${goodPayload}.${Buffer.from(`${goodSignature}AA`, 'base64url').toString('base64url')}`,
  ],
  ['the same signature plus the order of the group', withMalleatedSignature()],
  [
    'the signature of the payload alone',
    `${goodHeader}.${goodPayload}.${sign(null, Buffer.from(goodPayload), key.privateKey).toString('base64url')}`,
  ],
  [
    'the signature of the decoded payload',
    `${goodHeader}.${goodPayload}.${sign(null, Buffer.from(payloadText), key.privateKey).toString('base64url')}`,
  ],
].map(([name, token]) => ({ name, token, code: 'signature_invalid' }) as Forgery)

const payloads: Forgery[] = [
  ['no JSON', signToken(header, 'payload')],
  ['a list', signToken(header, [claims])],
  ['a text', signToken(header, '"allow"')],
  ['an action given twice', signToken(header, `{"action":"payment.list",${payloadText.slice(1)}`)],
  ['an action given twice, once escaped', signToken(header, `{"\\u0061ction":"payment.list",${payloadText.slice(1)}`)],
  [
    'a member given twice inside another',
    signToken(header, payloadText.replace('"log":"a1"', '"log":"a0","log":"a1"')),
  ],
  ['text after the object', signToken(header, `${payloadText}{}`)],
  ['invalid UTF-8', signToken(header, Buffer.from(payloadText.replace('a1', '\xff'), 'latin1'))],
  ['sub a number', withClaims({ sub: 7 })],
  ['iss missing', withoutClaim('iss')],
  ['aud a list that holds ours', withClaims({ aud: [AUDIENCE] })],
  ['aud missing', withoutClaim('aud')],
  ['aud null', withClaims({ aud: null })],
  ['exp missing', withoutClaim('exp')],
  ['exp a text', withClaims({ exp: `${claims.exp}` })],
  ['exp a fraction', withClaims({ exp: claims.exp + 0.5 })],
  ['exp beyond all numbers', signToken(header, payloadText.replace(`${claims.exp}`, '1e999'))],
  ['iat missing', withoutClaim('iat')],
  ['iat null', withClaims({ iat: null })],
  ['iat negative', withClaims({ iat: -1 })],
  ['jti missing', withoutClaim('jti')],
  ['jti empty', withClaims({ jti: '' })],
  ['jti an object', withClaims({ jti: {} })],
  ['action missing', withoutClaim('action')],
  ['action a list', withClaims({ action: ['payment.refund'] })],
  ['resource missing', withoutClaim('resource')],
  ['resource an object', withClaims({ resource: {} })],
  ['effect missing', withoutClaim('effect')],
  ['effect true', withClaims({ effect: true })],
  ['policy_id missing', withoutClaim('policy_id')],
  ['policy_revision a text', withClaims({ policy_revision: '1' })],
  ['amount a text', withClaims({ amount: '42.5' })],
  ['amount negative', withClaims({ amount: -1 })],
  ['unit a number', withClaims({ unit: 1 })],
  ['request_hash short', withClaims({ request_hash: 'abc' })],
  ['audit missing', withoutClaim('audit')],
  ['audit null', withClaims({ audit: null })],
  ['audit without leaf', withClaims({ audit: { log: 'a1', index: 12 } })],
  ['claims that only the prototype gives', signToken(header, `{"__proto__":${payloadText}}`)],
].map(([name, token]) => ({ name, token, code: 'claims_invalid' }) as Forgery)

const meanings: Forgery[] = [
  { name: 'another issuer', code: 'issuer_mismatch', token: withClaims({ iss: 'https://evil.example' }) },
  { name: 'the issuer with a slash', code: 'issuer_mismatch', token: withClaims({ iss: `${ISSUER}/` }) },
  { name: 'another audience', code: 'audience_mismatch', token: withClaims({ aud: ISSUER }) },
  {
    name: 'over since a minute',
    code: 'expired',
    token: withClaims({ iat: NOW_SECONDS - 360, exp: NOW_SECONDS - 60 }),
  },
  { name: 'exactly at exp', code: 'expired', token: withClaims({ iat: NOW_SECONDS - 300, exp: NOW_SECONDS }) },
  { name: 'issued 6 s ahead', code: 'issued_in_future', token: withClaims({ iat: NOW_SECONDS + 6 }) },
  { name: 'a life of 1 h and 1 s', code: 'life_too_long', token: withClaims({ exp: NOW_SECONDS + 3601 }) },
  { name: 'a life without end', code: 'life_too_long', token: withClaims({ exp: Number.MAX_SAFE_INTEGER }) },
  { name: 'an hour from long ago, prolonged', code: 'life_too_long', token: withClaims({ iat: 0 }) },
  { name: 'effect deny', code: 'effect_not_allowed', token: withClaims({ effect: 'deny' }) },
  {
    name: 'effect deny where log is allowed',
    code: 'effect_not_allowed',
    token: withClaims({ effect: 'deny' }),
    expected: { allowLog: true },
  },
  { name: 'effect log', code: 'effect_not_allowed', token: withClaims({ effect: 'log' }) },
  { name: 'effect ALLOW', code: 'effect_not_allowed', token: withClaims({ effect: 'ALLOW' }) },
  { name: 'an effect of nobody', code: 'effect_not_allowed', token: withClaims({ effect: 'permit' }) },
  { name: 'another action', code: 'action_mismatch', token: good, expected: { action: 'payment.create' } },
  { name: 'an action in other case', code: 'action_mismatch', token: good, expected: { action: 'Payment.refund' } },
  { name: 'a pattern for an action', code: 'action_mismatch', token: withClaims({ action: 'payment.*' }) },
  { name: 'another resource', code: 'resource_mismatch', token: good, expected: { resource: 'order:8813' } },
  { name: 'a resource where none is wanted', code: 'resource_mismatch', token: good, expected: { resource: null } },
  { name: 'no resource where one is wanted', code: 'resource_mismatch', token: withClaims({ resource: null }) },
  { name: 'another agent', code: 'agent_mismatch', token: good, expected: { agent_id: 'agent:support-8' } },
  { name: 'another amount', code: 'amount_mismatch', token: good, expected: { amount: 42.51 } },
  {
    name: 'no amount where one is wanted',
    code: 'amount_mismatch',
    token: withoutClaim('amount'),
    expected: { amount: 0 },
  },
  { name: 'another unit', code: 'unit_mismatch', token: good, expected: { unit: 'USD' } },
  {
    name: 'no unit where one is wanted',
    code: 'unit_mismatch',
    token: withoutClaim('unit'),
    expected: { unit: 'EUR' },
  },
  { name: 'another request', code: 'request_hash_mismatch', token: good, expected: { request_hash: 'x'.repeat(43) } },
]

const all = [...form, ...size, ...headers, ...keys, ...signatures, ...payloads, ...meanings]

describe('a forged permit is refused, and the good one beside it passes', () => {
  test.each(all)('$name: $code', async ({ token, code, expected: differing, options }) => {
    const refusal = await verifierWith(options)
      .verify(token, { ...expected, ...differing })
      .catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(PermitError)
    expect(refusal).toMatchObject({ code })
    await expect(verifierWith({ jwks: keySet }).verify(good, expected)).resolves.toEqual(claims)
  })

  test('every forgery is a forgery of its own', () => {
    expect(
      new Set(all.map(({ expected: differing, options, token }) => JSON.stringify([token, differing, options]))).size,
    ).toBe(all.length)
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
    expect(all.length).toBeGreaterThanOrEqual(40)
  })

  test('without saying what is expected nothing passes', async () => {
    const verify = verifierWith().verify as (token: string) => Promise<unknown>
    await expect(verify(good)).rejects.toMatchObject({ code: 'expectation_missing' })
  })

  test.each([undefined, null, 7, {}, [good], new String(good), Buffer.from(good)])('%o is no token', async (token) => {
    await expect(verifierWith().verify(token as string, expected)).rejects.toMatchObject({ code: 'token_malformed' })
  })
})
