/** A decision point that is away, slow or lying: nothing runs, and the caller has its answer. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { permitErrors } from '@countersign/express'
import {
  answerCutOff,
  answerDecision,
  answerHuge,
  answerJson,
  answerNever,
  answerNothing,
  answerProblem,
  answerText,
  type StubAnswer,
} from '@countersign/testkit'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { newApp, useRig } from './rig.js'

const rig = useRig()

function guarded(options: Parameters<ReturnType<typeof rig>['guard']>[0] = {}) {
  let runs = 0
  const app = newApp()
    .post('/', rig().guard(options), (_req, res) => {
      runs += 1
      res.end()
    })
    .use(permitErrors())
  return { app, runs: () => runs }
}

describe('a decision point', () => {
  it.each<[string, StubAnswer]>([
    ['that hangs', answerNever],
    ['that breaks off', answerCutOff],
    ['that answers without end', answerHuge(64 * 1024 * 1024)],
    ['that is overloaded', answerProblem(503, 'store_unavailable', { 'retry-after': '3' })],
    ['that is broken', answerProblem(500, 'internal_error')],
    ['that answers a page of somebody else', answerText(200, '<html>welcome</html>', { 'content-type': 'text/html' })],
    ['that answers half a decision', answerText(200, '{"effect":"allow","status":"authorized"')],
    ['that answers yes and nothing else', answerJson(200, { effect: 'allow', status: 'authorized' })],
    ['that answers nothing', answerNothing],
    ['that answers about another agent', answerDecision({ agent_id: 'agent:root' })],
    ['that answers about another action', answerDecision({ action: 'payment.send' })],
    ['that answers about another resource', answerDecision({ resource: 'order:1' })],
    ['that answers with an effect of tomorrow', answerDecision({ effect: 'perhaps' })],
    ['that answers with a status of tomorrow', answerDecision({ status: 'perhaps' })],
  ])('%s lets nothing run: 503, however long its answer takes', async (_what, answer) => {
    rig().answer('/decisions', answer)
    const { app, runs } = guarded({ timeoutMs: 300 })
    const { status, body, headers } = await request(app).post('/')
    expect([status, body.code, runs()]).toEqual([503, 'unavailable', 0])
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
  })

  it('that has gone lets nothing run, a hundred callers at once', async () => {
    const { app, runs } = guarded()
    await rig().stub.close()
    const { url } = await rig().listen(app)
    const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(url, { method: 'POST' })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    expect(runs()).toBe(0)
  })

  it('that comes back lets run again', async () => {
    rig().answer('/decisions', answerProblem(503, 'store_unavailable'))
    const { app, runs } = guarded()
    await request(app).post('/').expect(503)
    await request(app).post('/').expect(200)
    expect(runs()).toBe(1)
  })
})

describe('a server that is closed', () => {
  it('has told everything once its client was flushed', async () => {
    const { app } = guarded()
    const { server, url } = await rig().listen(app)
    rig().answer('/confirm', answerProblem(503, 'store_unavailable'))
    const answers = await Promise.all(Array.from({ length: 5 }, () => fetch(url, { method: 'POST' })))
    expect(answers.every(({ ok }) => ok)).toBe(true)
    await new Promise((resolve) => {
      server.close(resolve)
      server.closeIdleConnections()
    })
    expect(await rig().client.flush()).toBe(0)
    expect(await rig().settled(5)).toEqual(Array(5).fill('confirm'))
  })

  it('and whose process then ends by itself has told everything, the decision point having been away at first', async () => {
    rig().answer('/confirm', ...Array(3).fill(answerProblem(503, 'store_unavailable')))
    const program = fileURLToPath(new URL('closing-process.mjs', import.meta.url))
    const env = { ...process.env, COUNTERSIGN_URL: rig().stub.url, COUNTERSIGN_API_KEY: 'key-of-a-test', ANSWERS: '3' }
    const child = fork(program, { env, execArgv: [] })
    const exited = once(child, 'exit')
    const [{ url }] = (await once(child, 'message')) as [{ url: string }]
    const answers = await Promise.all(Array.from({ length: 3 }, () => fetch(url, { method: 'POST' })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await exited).toEqual([0, null])
    const confirmed = rig()
      .stub.requests.filter(({ url }) => url.endsWith('/confirm'))
      .map(({ url }) => url)
    expect(new Set(confirmed).size).toBe(3)
    expect(confirmed.length).toBeGreaterThan(3)
    for (const asked of new Set(confirmed)) {
      const id = asked.split('/').at(-2) ?? ''
      expect(await rig().client.decisions.get(id)).toMatchObject({ status: 'confirmed' })
    }
  })
})
