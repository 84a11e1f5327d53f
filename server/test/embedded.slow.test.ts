/** Countersign in an application of Express that others wrote, as docs/embedding.md shows it. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express, { type Express } from 'express'
import request from 'supertest'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '#server/config'
import { type Countersign, createCountersign } from '#server/create-countersign'
import { ALLOWED, REFUNDS } from './api/refunds.js'

const KEY = 'a-key-for-tests-of-more-than-32-characters'
const bearer = { Authorization: `Bearer ${KEY}` }

let dataDir: string
let countersign: Countersign
let logged: { readonly level: string; readonly fields: object; readonly message: string }[]
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'countersign-embedded-'))
  logged = []
  const at = (level: string) => (fields: object, message: string) => void logged.push({ level, fields, message })
  countersign = await createCountersign({
    address: 'https://pay.example/authorization',
    config: readConfig({ DATA_DIR: dataDir, COUNTERSIGN_BOOTSTRAP_KEY: KEY }),
    log: { info: at('info'), warn: at('warn'), error: at('error') },
  })
})
afterEach(async () => {
  await countersign.close()
  await rm(dataDir, { recursive: true })
})

/** The application of somebody else, with what such applications have. */
function application(mount: (app: Express) => void): Express {
  const app = express()
  mount(app)
  app.use(express.json())
  app.get('/', (_, res) => void res.send('the shop'))
  app.post('/orders', (req, res) => void res.json({ ordered: req.body.item }))
  return app
}

describe.each([
  ['at its root', '', (app: Express) => app.use(countersign.handler)],
  ['below a path', '/authorization', (app: Express) => app.use('/authorization', countersign.handler)],
  ['in a router', '/a/b', (app: Express) => app.use('/a', express.Router().use('/b', countersign.handler))],
])('an application that mounts it %s', (_, prefix, mount) => {
  it('decides, and keeps its own routes', async () => {
    const app = application(mount)
    await request(app).post(`${prefix}/v1/policies`).set(bearer).send(REFUNDS).expect(201)
    const decided = await request(app).post(`${prefix}/v1/decisions`).set(bearer).send(ALLOWED).expect(200)
    expect(decided.body).toMatchObject({ effect: 'allow', status: 'authorized' })
    expect(decided.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    const { id } = decided.body
    await request(app).post(`${prefix}/v1/decisions/${id}/confirm`).set(bearer).send({}).expect(200)
    const found = await request(app).get(`${prefix}/v1/decisions/${id}`).set(bearer).expect(200)
    expect(found.body).toMatchObject({ id, status: 'confirmed' })

    expect((await request(app).get('/').expect(200)).text).toBe('the shop')
    expect((await request(app).post('/orders').send({ item: 'tea' }).expect(200)).body).toEqual({ ordered: 'tea' })
    await request(app).get('/nowhere').expect(404).expect('Content-Type', /html/)
  })

  it('has the pages and the health checks', async () => {
    const app = application(mount)
    for (const path of ['/livez', '/readyz', '/metrics', '/docs/errors', '/openapi.json'])
      await request(app).get(`${prefix}${path}`).expect(200)
    // The reference is a page of the dashboard, which only a server of its own has.
    await request(app).get(`${prefix}/docs`).expect(307).expect('Location', 'openapi.json')
    await request(app).get(`${prefix}/v1/nowhere`).expect(401)
    await request(app).get(`${prefix}/v1/nowhere`).set(bearer).expect(404)
    const refused = await request(app).delete(`${prefix}/v1/decisions`).set(bearer).expect(405)
    expect(refused.headers.allow).toBe('POST, GET, HEAD')
  })
})

it('signs permits in the name of its address, which verify against its key set', async () => {
  const app = application((one) => one.use(countersign.handler))
  await request(app).post('/v1/policies').set(bearer).send(REFUNDS)
  const { permit_token } = (await request(app).post('/v1/decisions').set(bearer).send(ALLOWED)).body
  const claims = JSON.parse(Buffer.from(permit_token.split('.')[1], 'base64url').toString())
  expect(claims).toMatchObject({ iss: 'https://pay.example/authorization', action: ALLOWED.action })
})

it('reads no body that was parsed before, decides nothing from it, and says where to mount it', async () => {
  const app = express().use(express.json()).use(countersign.handler)
  await request(app).post('/v1/policies').set(bearer).send(REFUNDS).expect(500)
  const refused = await request(app).post('/v1/decisions').set(bearer).send(ALLOWED).expect(500)
  expect(refused.body).toMatchObject({ code: 'internal_error' })
  expect(JSON.stringify(refused.body)).not.toContain('body parsers')
  const [line] = logged.filter(({ level }) => level === 'error')
  expect((line?.fields as { err: Error } | undefined)?.err.message).toContain('before the body parsers')
  expect((await request(app).get('/v1/decisions').set(bearer).expect(200)).body.data).toEqual([])
})

it('is closed once what it was asked is answered, and answers 503 from then on', async () => {
  const app = application((one) => one.use(countersign.handler))
  await request(app).post('/v1/policies').set(bearer).send(REFUNDS)
  const server = app.listen(0)
  try {
    const ask = () => request(server).post('/v1/decisions').set(bearer).send(ALLOWED)
    const answers = Promise.all(Array.from({ length: 20 }, async () => (await ask()).status))
    await request(server).get('/livez')
    await countersign.close()
    const statuses = await answers
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
    await ask().expect(503)

    const log = { info: () => {}, warn: () => {}, error: () => {} }
    const config = readConfig({ DATA_DIR: dataDir })
    countersign = await createCountersign({ address: 'http://127.0.0.1', config, log })
    const reopened = express().use(countersign.handler)
    const { data } = (await request(reopened).get('/v1/decisions').set(bearer).expect(200)).body
    expect(data.length).toBeGreaterThanOrEqual(statuses.filter((status) => status === 200).length)
  } finally {
    server.close()
  }
})

it('gives the first key of an empty store, and where it is kept', async () => {
  expect(countersign.firstKey).toBeNull()
  const fresh = await mkdtemp(join(tmpdir(), 'countersign-embedded-'))
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  const other = await createCountersign({ address: 'http://127.0.0.1', config: readConfig({ DATA_DIR: fresh }), log })
  try {
    const { text, path } = other.firstKey as { text: string; path: string }
    expect((await readFile(path, 'utf8')).trim()).toBe(text)
    const app = express().use(other.handler)
    await request(app)
      .get('/v1/keys/self')
      .set({ Authorization: `Bearer ${text}` })
      .expect(200)
  } finally {
    await other.close()
    await rm(fresh, { recursive: true })
  }
})

it.each([
  undefined,
  42,
  '',
  'not a url',
  '/authorization',
  'ftp://shop.example',
  'https://a:b@h/',
  'https://h/?x',
  'https://h/#x',
])('does not start at the address %j, which permits could not name', async (address) => {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-embedded-'))
  const config = readConfig({ DATA_DIR: join(folder, 'data') })
  await expect(createCountersign({ address: address as string, config })).rejects.toThrow(ConfigError)
  expect(await readdir(folder)).toEqual([])
  await rm(folder, { recursive: true })
})
