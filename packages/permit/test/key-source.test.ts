import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { generateSigningKey, mintPermitSync } from '@countersign/permit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { claims, expected, key, keySet, nextKey, verifierWith } from './permit-fixture.js'

let server: Server
let url: string
let reads: number
let answer: (res: ServerResponse) => void
let ms: number

const answerWith = (body: object) => (res: ServerResponse) => res.end(JSON.stringify(body))
const down = (res: ServerResponse) => res.destroy()

beforeEach(async () => {
  reads = 0
  ms = claims.iat * 1000
  answer = answerWith(keySet)
  server = createServer((_, res) => {
    reads += 1
    answer(res)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/.well-known/jwks.json`
})

afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

/** A verifier whose clock is `ms`; its permits are always fresh. */
function reader(jwks: Parameters<typeof verifierWith>[0] = { jwks: url }) {
  const verifier = verifierWith({ ...jwks, now: () => ms })
  return (by = key) => {
    const iat = Math.floor(ms / 1000)
    return verifier.verify(mintPermitSync(by, { ...claims, iat, exp: iat + 300 }), expected)
  }
}

describe('a key set at a URL', () => {
  test('is read once for many permits', async () => {
    const read = reader()
    await Promise.all([read(), read(), read(nextKey)])
    ms += 59_999
    await read()
    expect(reads).toBe(1)
  })

  test('is read again when it is 60 s old, so that a revoked key is gone', async () => {
    const read = reader()
    await read()
    answer = answerWith({ keys: [nextKey.publicJwk] })
    ms += 60_000
    await expect(read()).rejects.toMatchObject({ code: 'key_unknown' })
    await expect(read(nextKey)).resolves.toMatchObject({ jti: claims.jti })
    expect(reads).toBe(2)
  })

  test('is read again for an unknown key, at most every 30 s', async () => {
    const read = reader()
    const made = generateSigningKey()
    await read()
    answer = answerWith({ keys: [made.publicJwk] })
    ms += 29_999
    await expect(read(made)).rejects.toMatchObject({ code: 'key_unknown' })
    expect(reads).toBe(1)
    ms += 1
    await expect(read(made)).resolves.toMatchObject({ jti: claims.jti })
    await expect(read(key)).rejects.toMatchObject({ code: 'key_unknown' })
    await expect(read(generateSigningKey())).rejects.toMatchObject({ code: 'key_unknown' })
    expect(reads).toBe(2)
  })

  test('serves for 1 h while it cannot be read, and is asked for every 10 s', async () => {
    const read = reader()
    await read()
    answer = down
    ms += 60_000
    await read()
    const readsOnce = reads
    ms += 9_999
    await read()
    expect(reads).toBe(readsOnce)
    ms += 1
    await read()
    expect(reads).toBeGreaterThan(readsOnce)
    ms += 3_600_000 - 70_001
    await read()
    ms += 1
    await expect(read()).rejects.toMatchObject({ code: 'key_set_unavailable' })
    answer = answerWith(keySet)
    ms += 10_000
    await expect(read()).resolves.toMatchObject({ jti: claims.jti })
  })

  test('that was never read is to be asked for after a whole second by a clock that gives no number', async () => {
    answer = down
    const verifier = verifierWith({ jwks: url, now: () => Number.NaN })
    const denied = { code: 'key_set_unavailable', retryAfterSeconds: 1 }
    await expect(verifier.verify(mintPermitSync(key, claims), expected)).rejects.toMatchObject(denied)
  })

  test('that was never read lets nothing pass, and is asked for again after 10 s', async () => {
    answer = down
    const read = reader()
    await expect(read()).rejects.toMatchObject({ code: 'key_set_unavailable', retryAfterSeconds: 10 })
    answer = answerWith(keySet)
    ms += 9_999
    await expect(read()).rejects.toMatchObject({ code: 'key_set_unavailable', retryAfterSeconds: 1 })
    ms += 1
    await expect(read()).resolves.toMatchObject({ jti: claims.jti })
  })

  test('is read again when the clock was set back', async () => {
    const read = reader()
    await read()
    ms -= 3_600_000
    await read()
    expect(reads).toBe(2)
  })

  test.each<[string, (res: ServerResponse) => void]>([
    ['a failure', (res) => res.writeHead(500).end(JSON.stringify(keySet))],
    ['another status', (res) => res.writeHead(203).end(JSON.stringify(keySet))],
    ['a redirect', (res) => (reads === 1 ? res.writeHead(302, { location: url }).end() : answerWith(keySet)(res))],
    ['no JSON', (res) => res.end('keys')],
    ['no key set', (res) => res.end('{"keys":{}}')],
    ['a key set with a member twice', (res) => res.end(`{"keys":[],"keys":${JSON.stringify(keySet.keys)}}`)],
    ['more than 64 KiB', (res) => res.end(JSON.stringify({ ...keySet, note: 'x'.repeat(65_536) }))],
    [
      'an end too early',
      (res) => res.writeHead(200, { 'content-length': '9999' }).write('{"keys"', () => res.destroy()),
    ],
  ])('is not read from %s', async (_, given) => {
    answer = given
    await expect(reader()()).rejects.toMatchObject({ code: 'key_set_unavailable' })
  })

  test('without end is not read to its end', async () => {
    let isClosed: () => void
    const closed = new Promise<void>((resolve) => {
      isClosed = resolve
    })
    answer = (res) => {
      const pour = () => res.write('x'.repeat(16_384)) && setImmediate(pour)
      res.on('drain', pour).on('close', () => isClosed())
      pour()
    }
    await expect(reader()()).rejects.toMatchObject({ code: 'key_set_unavailable' })
    await closed
  })
})

test('a key set may come from a function, kept in the same way', async () => {
  let calls = 0
  const read = reader({
    jwks: () => {
      calls += 1
      return Promise.resolve(keySet)
    },
  })
  await read()
  ms += 59_999
  await read()
  expect(calls).toBe(1)
  ms += 1
  await read()
  expect(calls).toBe(2)
})

test('a function that throws is a key set that cannot be read', async () => {
  const cause = new Error('no secrets today')
  const read = reader({
    jwks: () => {
      throw cause
    },
  })
  await expect(read()).rejects.toMatchObject({ code: 'key_set_unavailable', cause })
})
