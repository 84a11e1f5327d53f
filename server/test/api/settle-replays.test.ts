/** The same transition again with the same Idempotency-Key: the decision in its present state, and nothing happens twice. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Answer } from '../running-server.js'
import { conflict, DAY_MS, Desk, MINUTE_MS } from './desk.js'
import { succeed } from './refunds.js'
import { stored } from './stored.js'

let desk: Desk
let name = ''
let names = 0
beforeAll(async () => {
  desk = await Desk.open({ budget: { limit: 1_000_000 } })
})
afterAll(() => desk.stop())
beforeEach(() => {
  name = `transition-${names++}`
})

const isReplayed = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true'

type Verb = Parameters<Desk['transition']>[0]
const CASES: readonly {
  readonly verb: Verb
  readonly body: object
  readonly other: object
  readonly make: () => Promise<{ id: string }>
}[] = [
  { verb: 'confirm', body: { amount: 3 }, other: { amount: 4 }, make: () => desk.decide(10) },
  { verb: 'reject', body: { reason: 'x' }, other: { reason: 'y' }, make: () => desk.decide(10) },
  { verb: 'approve', body: { comment: 'x' }, other: { comment: 'y' }, make: () => desk.decide(200) },
  { verb: 'decline', body: {}, other: { comment: 'y' }, make: () => desk.decide(200) },
  { verb: 'claim', body: { holder: 'one' }, other: { holder: 'two' }, make: () => desk.approved(200) },
  {
    verb: 'correct',
    body: { result: 'rejected' },
    other: { result: 'confirmed' },
    make: async () => {
      const { id } = await desk.decide(10)
      return succeed(desk.transition('confirm', id))
    },
  },
]

describe.each(CASES)('$verb', ({ verb, body, other, make }) => {
  it('is answered again, marked, and changes nothing', async () => {
    const { id } = await make()
    const first = await desk.transition(verb, id, body, { name })
    expect({ status: first.status, isReplayed: isReplayed(first) }).toEqual({ status: 200, isReplayed: false })
    const before = await stored(desk.server)
    const again = await desk.transition(verb, id, body, { name })
    expect({ status: again.status, body: again.body }).toEqual({ status: 200, body: first.body })
    expect(isReplayed(again)).toBe(true)
    expect(await desk.transition(verb, id, other, { name })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    })
    expect(await stored(desk.server)).toEqual(before)
  })

  it('happens once when fifty come at once', async () => {
    const { id } = await make()
    const told = (await desk.told(id)).length
    const answers = await Promise.all(Array.from({ length: 50 }, () => desk.transition(verb, id, body, { name })))
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200))
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1)
    expect(answers.filter((answer) => !isReplayed(answer))).toHaveLength(1)
    expect(await desk.told(id)).toHaveLength(told + 1)
  })

  it('keeps no answer but a 2xx', async () => {
    const { id } = await desk.decide(5000)
    expect((await desk.transition(verb, id, body, { name })).status).toBe(409)
    expect((await desk.transition(verb, id, other, { name })).status).toBe(409)
  })

  it('is of one decision: the same name at another one is another call', async () => {
    const [one, two] = [await make(), await make()]
    await succeed(desk.transition(verb, one.id, body, { name }))
    expect(isReplayed(await desk.transition(verb, two.id, body, { name }))).toBe(false)
  })
})

describe('a replay', () => {
  it('answers the present state, also after a restart', async () => {
    const { id } = await desk.decide(200)
    await succeed(desk.transition('approve', id, {}, { name }))
    await succeed(desk.transition('claim', id, { holder: 'one' }))
    expect((await desk.transition('approve', id, {}, { name })).body).toMatchObject({ status: 'authorized' })
    await succeed(desk.transition('confirm', id, { amount: 1 }))
    desk.server = await desk.server.restart()
    expect((await desk.transition('approve', id, {}, { name })).body).toMatchObject({
      status: 'confirmed',
      outcome: { amount: 1 },
    })
  })

  it('of a claim shows the permit while it may run', async () => {
    const { id } = await desk.approved(200)
    const { body } = await desk.transition('claim', id, { holder: 'one' }, { name })
    expect((await desk.transition('claim', id, { holder: 'one' }, { name })).body.permit_token).toBe(body.permit_token)
    await succeed(desk.transition('reject', id))
    expect((await desk.transition('claim', id, { holder: 'one' }, { name })).body).not.toHaveProperty('permit_token')
  })

  it('of a transition that changed nothing is a replay all the same', async () => {
    const { id } = await desk.decide(10)
    await succeed(desk.transition('confirm', id))
    expect(isReplayed(await desk.transition('confirm', id, {}, { name }))).toBe(false)
    expect(isReplayed(await desk.transition('confirm', id, {}, { name }))).toBe(true)
    expect((await desk.transition('confirm', id, { amount: 10 }, { name })).status).toBe(422)
  })

  it('is over after a day', async () => {
    const { id } = await desk.decide(10)
    await succeed(desk.transition('confirm', id, {}, { name }))
    desk.clock.advance(DAY_MS - 1)
    expect(isReplayed(await desk.transition('confirm', id, {}, { name }))).toBe(true)
    desk.clock.advance(1)
    expect(await desk.transition('confirm', id, { amount: 9 }, { name })).toMatchObject(conflict('confirmed'))
  })
})

describe('the name of a request', () => {
  it('is kept over a day while its decision is open, and free once that is settled', async () => {
    const { body: first } = await desk.ask(200, { name })
    desk.clock.advance(DAY_MS - 1)
    await succeed(desk.transition('approve', first.id))
    desk.clock.advance(MINUTE_MS)
    const again = await desk.ask(200, { name })
    expect({ id: again.body.id, isReplayed: isReplayed(again) }).toEqual({ id: first.id, isReplayed: true })
    expect((await desk.ask(201, { name })).status).toBe(422)
    await succeed(desk.transition('claim', first.id, { holder: 'one' }))
    expect((await desk.ask(200, { name, holder: 'one' })).body.permit_token).toBeDefined()
    await succeed(desk.transition('confirm', first.id))
    const next = await desk.ask(200, { name })
    expect(isReplayed(next)).toBe(false)
    expect(next.body.id).not.toBe(first.id)
  })

  it('is kept for a day after its decision was settled', async () => {
    const { body: first } = await desk.ask(10, { name })
    await succeed(desk.transition('reject', first.id))
    desk.clock.advance(DAY_MS - 1)
    expect((await desk.ask(10, { name })).body).toMatchObject({ id: first.id, status: 'rejected' })
    desk.clock.advance(1)
    expect((await desk.ask(10, { name })).body.id).not.toBe(first.id)
  })
})
