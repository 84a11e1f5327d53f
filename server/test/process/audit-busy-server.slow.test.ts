/** `countersign audit` waits for a server that is busy for as long as it asks to, and not for ever. */
import { readdirSync } from 'node:fs'
import { createServer, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ALLOWED, createPolicy, decide, REFUNDS } from '../api/refunds.js'
import { type RunningServer, runServer } from '../running-server.js'
import { endChildren } from './child.js'
import { countersign, newDirectory, removeDirectories } from './shipped-server.js'

let server: RunningServer
let decision: string
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, REFUNDS)
  decision = (await decide(server, ALLOWED)).id
})
afterAll(() => server.stop())

/** Stands before the server, as a proxy does that answers for it while it is busy. */
let front: Server
let url: string
let busy: (number: number, res: ServerResponse) => boolean
let askedAt: number[]
beforeEach(async () => {
  askedAt = []
  front = createServer((req, res) => {
    askedAt.push(performance.now())
    if (busy(askedAt.length, res)) return
    const { method, headers } = req
    const asked = request(`${server.url}${req.url}`, { method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(res)
    })
    req.pipe(asked)
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
})
afterEach(async () => {
  await endChildren()
  front.close()
  front.closeAllConnections()
  removeDirectories()
})

function audit(args: readonly string[]) {
  return countersign(['audit', ...args, '--url', url], { env: { COUNTERSIGN_API_KEY: server.key } })
}

async function run(args: readonly string[]) {
  const child = audit(args)
  const { code } = await child.end(60_000)
  return { code, said: child.stdout + child.stderr }
}

/** As the server itself refuses. */
function refuse(res: ServerResponse, status: number, seconds: number): true {
  const code = status === 429 ? 'rate_limited' : 'store_unavailable'
  const problem = { type: `/docs/errors#${code}`, title: 'Busy.', status, detail: 'Later.', code, request_id: 'req_1' }
  res.writeHead(status, { 'Retry-After': String(seconds), 'Content-Type': 'application/problem+json' })
  res.end(JSON.stringify(problem))
  return true
}

const COMMANDS: Readonly<Record<string, () => readonly string[]>> = {
  export: () => ['export', '--out', join(newDirectory(), 'export.ndjson')],
  'export --checkpoint-only': () => ['export', '--checkpoint-only', '--witness', join(newDirectory(), 'kept.txt')],
  prove: () => ['prove', decision],
  'verify --records': () => ['verify', '--records', '--jwks', `${server.url}/.well-known/jwks.json`],
}

describe.each(Object.keys(COMMANDS))('audit %s', (command) => {
  const args = () => COMMANDS[command]?.() ?? []

  it('asks again after what each answer asks for', async () => {
    busy = (number, res) => {
      if (number > 2) return false
      refuse(res, number === 1 ? 503 : 429, number === 1 ? 3 : 2)
      return true
    }
    const { code, said } = await run(args())
    expect([code, said]).toEqual([0, expect.any(String)])
    const [first = 0, second = 0, third = 0] = askedAt
    // A timer may be a little early.
    expect(second - first).toBeGreaterThan(2_990)
    expect(third - second).toBeGreaterThan(1_990)
  })

  it('asks only so often, and ends at once when the wait would be too long', async () => {
    busy = (_, res) => {
      refuse(res, 503, 0)
      return true
    }
    expect((await run(args())).code).toBe(1)
    expect(askedAt).toHaveLength(5)
    askedAt = []
    busy = (_, res) => {
      refuse(res, 429, 3600)
      return true
    }
    const { code, said } = await run(args())
    expect([code, said]).toEqual([1, expect.stringContaining('It asks to wait 3600 seconds: repeat the command then.')])
    expect(askedAt).toHaveLength(1)
  })
})

it('takes the answer of a proxy for a busy server, too', async () => {
  busy = (number, res) => {
    if (number > 1) return false
    res.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>Bad gateway</h1>')
    return true
  }
  expect((await run(['export', '--out', join(newDirectory(), 'export.ndjson')])).code).toBe(0)
})

describe('a server that takes no connections', () => {
  it.each(Object.keys(COMMANDS))('may be restarting: audit %s waits for it', async (command) => {
    busy = () => false
    const { port } = front.address() as AddressInfo
    front.close()
    const child = audit(COMMANDS[command]?.() ?? [])
    await until('word of the wait', () => child.stderr.includes(`${url} takes no connections.`) || undefined)
    await new Promise<void>((resolve) => front.listen(port, '127.0.0.1', resolve))
    expect([(await child.end(60_000)).code, child.stderr]).toEqual([0, expect.any(String)])
  })

  it('may be gone: the command ends, and has said so once', async () => {
    front.close()
    const child = audit(['prove', decision])
    expect((await child.end(60_000)).code).toBe(1)
    const [waits, ends, ...more] = child.stderr.trim().split('\n')
    expect([waits, ends, more]).toEqual([
      expect.stringContaining('tries again for about 15 seconds'),
      expect.stringContaining('does not answer'),
      [],
    ])
  })
})

it('leaves no export of a server that ends each connection without an answer', async () => {
  busy = (_number, res) => res.destroy().destroyed
  const folder = newDirectory()
  const { code, said } = await run(['export', '--out', join(folder, 'export.ndjson')])
  expect([code, readdirSync(folder), askedAt.length]).toEqual([1, [], 15])
  expect(said).toContain('Repeat')
})

it('waits for a key set of a server, too', async () => {
  busy = (number, res) => number === 1 && refuse(res, 503, 0)
  const out = join(newDirectory(), 'export.ndjson')
  expect((await audit(['export', '--out', out]).end()).code).toBe(0)
  askedAt = []
  const verify = countersign(['audit', 'verify', out, '--jwks', `${url}/.well-known/jwks.json`])
  expect([(await verify.end()).code, askedAt.length]).toEqual([0, 2])
})
