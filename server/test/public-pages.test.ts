import { ERRORS } from '@countersign/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, type RunningServerOptions, runServer } from './running-server.js'
import { openStoreWith } from './store-with.js'

const PAGES = ['/livez', '/readyz', '/metrics', '/openapi.json', '/docs/errors', '/.well-known/jwks.json']

let server: RunningServer
beforeAll(async () => {
  server = await runServer()
})
afterAll(() => server.stop())

const read = (path: string, init?: RequestInit) => fetch(`${server.url}${path}`, init)

async function withServer(options: RunningServerOptions, work: (server: RunningServer) => Promise<void>) {
  const other = await runServer(options)
  try {
    await work(other)
  } finally {
    await other.stop()
  }
}

describe.each(PAGES)('%s', (path) => {
  it('needs no key, and takes no notice of one', async () => {
    expect((await read(path)).status).toBe(200)
    expect((await read(path, { headers: { Authorization: 'Bearer nonsense' } })).status).toBe(200)
  })

  it('carries a request id: the caller’s own where it is plain, else a new one', async () => {
    const own = await read(path, { headers: { 'X-Request-Id': 'from-the-caller.1' } })
    expect(own.headers.get('X-Request-Id')).toBe('from-the-caller.1')
    const odd = await read(path, { headers: { 'X-Request-Id': 'no blanks please' } })
    expect(odd.headers.get('X-Request-Id')).toMatch(/^req_[0-9a-z]{26}$/)
  })

  it('answers HEAD like GET, without a body', async () => {
    const head = await read(path, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(Number(head.headers.get('Content-Length'))).toBeGreaterThan(0)
  })

  it('is not there for another method or with a slash at its end', async () => {
    const posted = await read(path, { method: 'POST', body: '{}' })
    expect([posted.status, posted.headers.get('Allow')]).toEqual([405, 'GET, HEAD'])
    expect(await posted.json()).toMatchObject({ code: 'method_not_allowed' })
    expect((await read(`${path}/`)).status).toBe(404)
  })
})

describe('any other path outside /v1', () => {
  it.each(['/doc', '/docs/errors.html', '/metrics/all', '/%zz', '/favicon.ico'])('%s is a problem', async (path) => {
    const answer = await read(path)
    expect(answer.status).toBe(404)
    expect(answer.headers.get('Content-Type')).toBe('application/problem+json')
    const problem = (await answer.json()) as { request_id: string }
    expect(problem).toMatchObject({ code: 'not_found', type: '/docs/errors#not_found' })
    expect(problem.request_id).toBe(answer.headers.get('X-Request-Id'))
  })
})

describe('/livez and /readyz', () => {
  it('say so in JSON that nothing keeps', async () => {
    for (const [path, status] of [
      ['/livez', 'ok'],
      ['/readyz', 'ready'],
    ] as const) {
      const answer = await read(path)
      expect(answer.headers.get('Cache-Control')).toBe('no-store')
      expect(await answer.json()).toEqual({ status })
    }
  })

  it('are alive and not ready while the store fails', async () => {
    const ping = () => Promise.reject(new Error('the disk is gone'))
    await withServer({ parts: { openStore: (dataDir) => openStoreWith(dataDir, () => ({ ping })) } }, async (other) => {
      expect(await other.call('GET', '/readyz')).toMatchObject({
        status: 503,
        body: { status: 'not ready', detail: 'the store does not answer' },
      })
      expect(other.logged).toContainEqual(expect.objectContaining({ level: 'warn' }))
      expect(await other.call('GET', '/livez')).toMatchObject({ status: 200 })
    })
  })

  it('are alive and not ready while the store does not answer in time', async () => {
    const ping = () => new Promise<void>(() => {})
    await withServer({ parts: { openStore: (dataDir) => openStoreWith(dataDir, () => ({ ping })) } }, async (other) => {
      expect((await other.call('GET', '/readyz')).status).toBe(503)
    })
  })

  it('are alive and not ready from the first moment of a shutdown on, which ends kept connections', async () => {
    await withServer({}, async (other) => {
      other.started.composed.drain()
      const ready = await other.call('GET', '/readyz')
      expect(ready).toMatchObject({ status: 503, body: { detail: 'shutting down' } })
      expect(ready.headers.get('Connection')).toBe('close')
      expect((await other.call('GET', '/livez')).status).toBe(200)
    })
  })
})

describe('/.well-known/jwks.json', () => {
  it('shows the public part of the signing keys, for everyone to keep for a minute', async () => {
    const answer = await read('/.well-known/jwks.json')
    expect(answer.headers.get('Cache-Control')).toBe('public, max-age=60')
    const { keys } = (await answer.json()) as { keys: object[] }
    expect(keys.length).toBeGreaterThan(0)
    for (const key of keys) {
      expect(key).toMatchObject({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', x: expect.any(String) })
      expect(Object.keys(key)).not.toContain('d')
    }
  })
})

describe('/openapi.json', () => {
  it('describes every route, in OpenAPI 3.1', async () => {
    const document = (await (await read('/openapi.json')).json()) as {
      openapi: string
      paths: Record<string, Record<string, { operationId: string }>>
    }
    expect(document.openapi).toBe('3.1.0')
    const described = Object.values(document.paths).flatMap((methods) => Object.values(methods))
    const names = server.started.composed.routes.map(({ name }) => name.replace('.', '_'))
    expect(described.map(({ operationId }) => operationId).sort()).toEqual([...names].sort())
  })
})

describe.each(['/docs/errors'])('the page %s', (path) => {
  it('may load nothing from anywhere and runs no script', async () => {
    const answer = await read(path)
    expect(answer.headers.get('Content-Type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('Content-Security-Policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    )
    const text = await answer.text()
    const withoutCode = text.replaceAll(/<code>[^<]*<\/code>/g, '')
    expect(withoutCode).not.toMatch(/<script|javascript:|https?:\/\/(?!www\.w3\.org)|\son\w+=|\sstyle=/i)
  })

  it('links only to what is there', async () => {
    const text = await (await read(path)).text()
    const links = [...text.matchAll(/href="([^"]*)"/g)].map(([, link]) => link as string)
    const pages = new Map([[path, text]])
    for (const link of new Set(links.filter((one) => one !== 'data:,'))) {
      const [page = '', anchor] = link.split('#')
      const target = page === '' ? path : page
      if (!pages.has(target)) pages.set(target, await (await read(target)).text())
      if (anchor !== undefined) expect(pages.get(target), link).toContain(` id="${anchor}"`)
    }
    expect(links.length).toBeGreaterThan(1)
  })
})

describe('/docs/errors', () => {
  it('has an anchor for each code, where the type of each problem points', async () => {
    const text = await (await read('/docs/errors')).text()
    for (const code of Object.keys(ERRORS)) expect(text).toContain(`<h2 id="${code}">`)
    const { body } = await server.call('GET', '/v1/keys/self', { key: null })
    const { pathname, hash } = new URL(body.type, server.url)
    expect(await (await read(pathname)).text()).toContain(`<h2 id="${hash.slice(1)}">`)
  })
})

describe('/metrics', () => {
  const scrape = async (of: RunningServer = server) => (await fetch(`${of.url}/metrics`)).text()
  /** The number of a series; 0 while there is none. */
  const valueIn = (text: string, series: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.slice(series.length + 1) ?? 0,
    )

  it('counts decisions by effect and reason, and measures their evaluation and their commit', async () => {
    await withServer({}, async (other) => {
      const rules = [{ action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } }]
      await other.call('POST', '/v1/policies', { body: { name: 'refunds', rules } })
      const before = await scrape(other)
      const asked = { agent_id: 'agent:a', action: 'payment.refund' }
      await other.call('POST', '/v1/decisions', { body: { ...asked, context: { amount: 42.5 } } })
      await other.call('POST', '/v1/decisions', { body: { ...asked, context: { amount: 500 } } })
      await other.call('POST', '/v1/decisions', { body: { ...asked, context: { amount: 501 } } })
      const after = await scrape(other)
      const rise = (series: string) => valueIn(after, series) - valueIn(before, series)
      expect(rise('countersign_decisions_total{effect="allow",reason_code="rule_matched"}')).toBe(1)
      expect(rise('countersign_decisions_total{effect="deny",reason_code="no_matching_policy"}')).toBe(2)
      expect(rise('countersign_evaluation_duration_seconds_count')).toBe(3)
      expect(rise('countersign_store_commit_duration_seconds_count')).toBe(3)
      expect(after).toContain('countersign_store_waiting_records 0\n')
    })
  })

  it('tells how many records wait while the store is slow', async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let isHeld = false
    const openStore = (dataDir: string) =>
      openStoreWith(dataDir, (store) => ({
        commit: async (records) => {
          if (isHeld) await held
          return store.commit(records)
        },
      }))
    await withServer({ parts: { openStore } }, async (other) => {
      isHeld = true
      const asked = { agent_id: 'agent:a', action: 'payment.refund' }
      const answers = [1, 2, 3, 4].map(() => other.call('POST', '/v1/decisions', { body: asked }))
      const waiting = async () => valueIn(await scrape(other), 'countersign_store_waiting_records')
      await expect.poll(waiting, { timeout: 10_000 }).toBe(3)
      release()
      for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200)
      expect(await waiting()).toBe(0)
    })
  })

  it('measures requests by the template of their path, never by what a caller wrote', async () => {
    const secret = 'pol_01kagx3v5ne8sr6w1y6gqk4t2h'
    await server.call('GET', `/v1/policies/${secret}`)
    await server.call('GET', `/v1/${secret}`)
    await server.call('GET', `/${secret}`)
    await server.call('POST', '/v1/decisions', { body: { agent_id: secret, action: secret } })
    await server.call('PROPFIND', '/v1/policies')
    await server.call('GET', '/livez')
    const text = await scrape()
    const count = (route: string, method: string, status: number) =>
      valueIn(
        text,
        `countersign_http_request_duration_seconds_count{route="${route}",method="${method}",status="${status}"}`,
      )
    expect(count('/v1/policies/{id}', 'GET', 404)).toBe(1)
    expect(count('/v1/decisions', 'POST', 200)).toBe(1)
    expect(count('/v1/policies', 'other', 405)).toBe(1)
    expect(count('/livez', 'GET', 200)).toBeGreaterThan(0)
    expect(count('none', 'GET', 404)).toBeGreaterThanOrEqual(2)
    expect(text).not.toContain(secret)
  })

  it('shows what the process itself does', async () => {
    const text = await scrape()
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect(text).toContain(`\n${name} `)
  })

  it('with METRICS_TOKEN wants exactly that token', async () => {
    const metricsToken = 'a-token-of-the-metrics'
    await withServer({ settings: { metricsToken } }, async (other) => {
      const get = (authorization?: string) =>
        fetch(`${other.url}/metrics`, authorization === undefined ? {} : { headers: { Authorization: authorization } })
      for (const wrong of [
        undefined,
        metricsToken,
        `Basic ${metricsToken}`,
        `Bearer ${metricsToken}x`,
        `Bearer ${other.key}`,
      ]) {
        const refused = await get(wrong)
        expect(refused.status).toBe(401)
        expect(refused.headers.get('WWW-Authenticate')).toBe('Bearer')
        expect(await refused.json()).toMatchObject({ code: 'unauthorized' })
      }
      const answer = await get(`Bearer ${metricsToken}`)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8')
      expect(await answer.text()).toContain('countersign_decisions_total')
    })
  })
})
