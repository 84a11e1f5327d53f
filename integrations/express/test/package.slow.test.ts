/** What is published: packed as npm does it, then used as somebody would who has a strict project of his own. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileIn, projectWith } from '../../../scripts/clean-project.js'
import { startDecisionPoint } from './decision-point.js'

const run = promisify(execFile)

const CONSUMER = `
import { Countersign, type JsonObject } from '@countersign/client'
import { guard, permitErrors, requirePermit, RouteDeniedError, type RouteGuardOptions, type PermittedRoute, type RoutePermit, type RouteProblem, type VerifiedPermit, type WebhookReceiverOptions, webhookReceiver } from '@countersign/express'
import express, { type ErrorRequestHandler, type Request } from 'express'

const client = new Countersign({ apiKey: 'k' })
const app = express()
app.use(express.json())

const options: RouteGuardOptions = {
  client,
  action: (req) => (req.method === 'DELETE' ? 'refund.delete' : 'payment.refund'),
  resource: (req) => \`order:\${req.params.id}\`,
  context: (req) => ({ amount: req.body.amount, tags: ['a', null] }),
  review: 'wait',
  graceMs: 10_000,
  idempotencyKey: (req) => req.get('x-request-id'),
  outcome: (_req, res) => (res.statusCode === 504 ? { kind: 'unknown' } : undefined),
  onEvent: (event) => event.type satisfies string,
}
app.post('/refunds/:id', guard(options), async (req, res) => {
  const id: string = req.params.id
  const permit: RoutePermit | undefined = req.permit
  const decision: string | undefined = res.locals.permit?.decision?.id
  const token: string | null | undefined = permit?.permit_token
  const asked: JsonObject | null | undefined = permit?.asked?.context
  const { settle, state } = (await permit?.confirm({ amount: 40, note: id })) ?? {}
  settle satisfies 'confirm' | 'reject' | 'leave' | undefined
  state satisfies 'settled' | (string & {}) | undefined
  await req.permit?.reject('sold out')
  await req.permit?.leave()
  res.json({ decision, token, asked })
})

// Events have the data of their type.
const webhook: WebhookReceiverOptions = {
  secret: ['whsec_1', 'whsec_2'],
  on: {
    'decision.review_requested': async ({ id, data }) => id + (data.review?.expires_at ?? data.id),
    'budget.threshold': ({ data }) => data.threshold satisfies 50 | 80 | 100,
  },
  otherwise: (event) => String(event.type),
  onError: (error, event) => console.error(event?.id, error),
}
const hooks = () => app.post('/hooks', webhookReceiver(webhook))
hooks.length
// @ts-expect-error no type of event
webhookReceiver({ secret: 's', on: { 'decision.review-requested': () => undefined } })

// A wrapped handler has its permit; whole, unless the mode may be observe.
app.post('/wrapped/:id', guard({ client, action: 'a.b', mode: 'enforce' }, (req, res) => {
  const permit: PermittedRoute = req.permit
  const id: string = permit.decision.id + permit.permit_token.length + permit.asked.action
  res.json({ id, of: req.params.id })
}))
const mode: 'enforce' | 'observe' = process.env.MODE === 'observe' ? 'observe' : 'enforce'
guard({ client, action: 'a.b', mode }, (req, res) => {
  const token: string | undefined = req.permit.kind === 'permitted' ? req.permit.permit_token : undefined
  // @ts-expect-error there may be no answer in the mode observe
  res.json([token, req.permit.decision.id])
})
guard({ point: client.enforcement(), action: 'a.b' }, (req, res) => {
  // @ts-expect-error a point may observe
  res.json(req.permit.asked.action)
})
guard({ client, action: 'a.b', mode: 'observe' }, (req) => void req.permit.decision?.id)

// Between handlers of other types, and with a request type of its own.
interface Order { amount: number }
const typed = guard<Request<{ id: string }, unknown, Order>>({ client, agent_id: 'agent:a', action: 'a.b', context: ({ body }) => ({ amount: body.amount }) })
app.put<{ id: string }, { done: boolean }, Order>('/orders/:id', typed, (req, res) => void res.json({ done: req.body.amount > req.params.id.length }))
app.use(typed)
express.Router().all(/x/, typed)

app.post('/bookings/:id', requirePermit({
  issuer: 'https://decide.example',
  audience: 'https://pay.example',
  jwks: 'https://decide.example/.well-known/jwks.json',
  action: 'payment.refund',
  resource: (req) => \`order:\${req.params.id}\`,
  context: (req) => ({ amount: req.body.amount }),
  effects: ['allow', 'review', 'log'],
  singleUse: { redeem: client },
}), (req, res) => {
  const verified: VerifiedPermit | undefined = res.locals.verifiedPermit
  const agent: string | undefined = req.verifiedPermit?.claims.sub
  res.json({ agent, status: verified?.decision?.status })
})

const mine: ErrorRequestHandler = (error, _req, res, next) => {
  if (!RouteDeniedError.isInstance(error)) return next(error)
  const problem: RouteProblem = error.toProblem()
  res.status(problem.status).set(error.headers).json({ code: problem.code, decision: problem.decision_id })
}
app.use(mine, permitErrors())

app.get('/', (req, res) => {
  // @ts-expect-error a route may have no guard
  req.permit.confirm()
  // @ts-expect-error a transition that does not exist
  void req.permit?.approve()
  // @ts-expect-error an amount is a number
  void res.locals.permit?.confirm({ amount: '40' })
  res.end()
})
// @ts-expect-error there is no way to let an error through
guard({ client, action: 'a.b', onUnavailable: 'allow' })
// @ts-expect-error an option that does not exist
guard({ client, action: 'a.b', failMode: 'open' })
// @ts-expect-error a route names its action
guard({ client })
// @ts-expect-error a client or a point
guard({ client, point: client.enforcement(), action: 'a.b' })
// @ts-expect-error an effect that does not exist
requirePermit({ issuer: 'i', audience: 'a', jwks: { keys: [] }, action: 'a.b', resource: null, effects: ['deny'] })
// @ts-expect-error what it is for has to be said
requirePermit({ issuer: 'i', audience: 'a', jwks: { keys: [] }, action: 'a.b' })
`

/** Where what may be left out may not be undefined. */
const EXACT = `
// @ts-expect-error any agent is taken by leaving it out
requirePermit({ issuer: 'i', audience: 'a', jwks: { keys: [] }, action: 'a.b', resource: null, agent_id: process.env.AGENT })
// @ts-expect-error any facts are
requirePermit({ issuer: 'i', audience: 'a', jwks: { keys: [] }, action: 'a.b', resource: null, context: undefined })
// @ts-expect-error any hash is
requirePermit({ issuer: 'i', audience: 'a', jwks: { keys: [] }, action: 'a.b', resource: null, requestHash: undefined })
`

describe('the package', () => {
  let folder: string
  let installed: string
  beforeAll(async () => {
    folder = await projectWith(
      ['integrations/express', 'packages/client', 'packages/permit', 'packages/contract'],
      ['express', 'jose', 'zod', '@types/express', '@types/node'],
    )
    installed = join(folder, 'node_modules', '@countersign', 'express')
  }, 120_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('asks for Express and the client as its user has them, and brings the check of permits', async () => {
    const { dependencies, peerDependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
    expect(Object.keys(dependencies)).toEqual(['@countersign/permit'])
    expect(Object.keys(peerDependencies)).toEqual(['@countersign/client', '@types/express', 'express'])
  })

  it('does what its README says, by the programs that stand there', async () => {
    const readme = await readFile(join(installed, 'README.md'), 'utf8')
    const [policy = '', program = ''] = readme
      .split('```js\n')
      .slice(1)
      .map((rest) => rest.split('```')[0])
    await writeFile(join(folder, 'policy.mjs'), policy)
    await writeFile(join(folder, 'app.mjs'), program)
    const point = await startDecisionPoint()
    const { key } = await point.admin.keys.create({ name: 'reader', scopes: ['*'] })
    const env = { PATH: process.env.PATH, PORT: '0', COUNTERSIGN_URL: point.url, COUNTERSIGN_API_KEY: key }
    await run(process.execPath, ['policy.mjs'], { cwd: folder, env })
    const app = spawn(process.execPath, ['app.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    const exited = once(app, 'exit')
    const [line] = await once(app.stdout, 'data')
    const refund = async (amount: number) => {
      const answer = await fetch(`http://127.0.0.1:${/port: (\d+)/.exec(String(line))?.[1]}/refunds/17`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ amount }),
      })
      return [answer.status, await answer.json()]
    }
    expect(await refund(42.5)).toEqual([200, { refunded: '17', decision: expect.stringMatching(/^dec_/) }])
    expect(await refund(400)).toMatchObject([403, { code: 'review_required' }])
    expect(await refund(4000)).toMatchObject([403, { code: 'denied' }])
    app.kill()
    await exited
    point.admin.close()
    await point.stop()
  }, 60_000)

  it('holds no tests and no build leftovers', async () => {
    const files = await readdir(installed, { recursive: true })
    expect(files.filter((name) => /\.test\.|tsbuildinfo|^test/.test(name))).toEqual([])
    expect(files).toEqual(expect.arrayContaining(['README.md', 'dist/index.js', 'dist/index.d.ts']))
  })

  it('runs with nothing but Node, the client and the check of permits: Express itself is not loaded', async () => {
    const files = (await readdir(join(installed, 'dist'))).filter((name) => name.endsWith('.js'))
    const texts = await Promise.all(files.map((name) => readFile(join(installed, 'dist', name), 'utf8')))
    const outer = texts.flatMap((text) => [...text.matchAll(/from ["']([^."'][^"']*)["']/g)].map(([, name]) => name))
    expect([...new Set(outer)].sort()).toEqual([
      '@countersign/client',
      '@countersign/client/kernel',
      '@countersign/client/webhook',
      '@countersign/permit',
      'node:crypto',
      'node:fs',
      'node:path',
    ])
  })

  it('exports this and nothing else', async () => {
    const script = "console.log(Object.keys(await import('@countersign/express')).sort().join())"
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder })
    expect(stdout.trim()).toBe('RouteDeniedError,checkRoutes,guard,permitErrors,requirePermit,webhookReceiver')
  })

  it.each([
    [
      'with the defaults of Node, declarations of libraries included',
      { skipLibCheck: false, skipDefaultLibCheck: true },
      CONSUMER,
    ],
    ['with exact optional members', { skipLibCheck: true, exactOptionalPropertyTypes: true }, CONSUMER + EXACT],
  ])(
    'is typed in a strict project, %s',
    async (_how, options, consumer) => {
      expect(await compileIn(folder, consumer, options)).toBe('')
    },
    120_000,
  )
})
