/** The golden request bodies again, over HTTP this time: an answer is 200, or names exactly the places that the case names. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { stored } from './stored.js'

interface RequestCase {
  readonly id: string
  readonly case: { readonly body_b64: string }
  readonly expect: { readonly status: 'ok' | 400 | 413; readonly pointers: readonly string[] | null }
}

const cases = readFileSync(new URL('../../../packages/contract/cases/validate_request.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line): RequestCase => JSON.parse(line))

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
})
afterAll(() => server.stop())

it('has all golden bodies', () => {
  expect(cases).toHaveLength(450)
  for (const status of ['ok', 400]) expect(cases.some((one) => one.expect.status === status)).toBe(true)
})

it.each(cases)('$id', async ({ case: { body_b64 }, expect: wanted }) => {
  const before = await stored(server)
  const answer = await server.call('POST', '/v1/decisions', { body: Buffer.from(body_b64, 'base64') })
  if (wanted.status === 'ok') {
    expect(answer).toMatchObject({ status: 200, body: { effect: 'deny', reason_code: 'no_matching_policy' } })
    return
  }
  expect(await stored(server)).toEqual(before)
  if (wanted.status === 413) expect(answer).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
  else if (wanted.pointers === null) {
    expect(answer).toMatchObject({ status: 400, body: { code: 'malformed_json' } })
    expect(answer.body.detail).toMatch(/^Line \d+, column \d+: .+\.$/s)
  } else {
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(wanted.pointers)
  }
})
