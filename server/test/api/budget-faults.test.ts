/** What the budgets hold when a part of the server fails: nothing is held for what was never written, and no cent is lost. */
import { evaluate } from '@countersign/engine'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { CommitResult, Mutation } from '#server/ports/store/store'
import type { Answer } from '../running-server.js'
import { Desk, MINUTE_MS } from './desk.js'
import { type Commit, FaultyStore } from './faulty-store.js'
import { everyItem, succeed } from './refunds.js'
import { stored } from './stored.js'

let desk: Desk
let faulty: FaultyStore
let breaks: boolean
let monotonicMs = 0
beforeEach(async () => {
  faulty = new FaultyStore()
  breaks = false
  const evaluateOrBreak: typeof evaluate = (...args) => {
    if (breaks) throw new Error('a fault of ours')
    return evaluate(...args)
  }
  monotonicMs = 0
  const parts = {
    openStore: faulty.open,
    evaluate: evaluateOrBreak,
    expireEveryMs: 1000,
    monotonicMs: () => monotonicMs,
  }
  desk = await Desk.open({ budget: { limit: 400 }, parts })
})
afterEach(async () => {
  vi.useRealTimers()
  await desk.stop()
})

const fails = async () => {
  throw new StoreUnavailableError('The disk is full.')
}
/** It becomes durable and the caller is told otherwise. */
const writesAndFails = async (records: readonly Mutation[], commit: Commit): Promise<CommitResult> => {
  await commit(records)
  throw new StoreUnavailableError('The disk did not answer.')
}

async function during(fault: FaultyStore['commit'], call: () => Promise<Answer>): Promise<void> {
  faulty.commit = fault
  const answer = await call()
  faulty.commit = null
  expect(answer).toMatchObject({ status: 503, body: { code: 'store_unavailable' } })
  expect(JSON.stringify(answer.body)).not.toMatch(/permit_token|eyJ/)
}

const full = { spent: 0, reserved: 400, remaining: 0 }
const empty = { spent: 0, reserved: 0, remaining: 400 }

describe('a commit that fails and leaves nothing', () => {
  it('holds nothing of a decision', async () => {
    const before = await stored(desk.server)
    for (let i = 0; i < 5; i += 1) await during(fails, () => desk.ask(100))
    // What is given back on another machine leaves it a moment after the answer.
    await expect.poll(() => stored(desk.server), { timeout: 10_000 }).toEqual(before)
    expect(await desk.account()).toEqual(empty)
    const effects = [1, 2, 3, 4, 5].map(async () => (await desk.decide(100)).effect)
    expect((await Promise.all(effects)).sort()).toEqual(['allow', 'allow', 'allow', 'allow', 'deny'])
  })

  it('holds nothing of an approval, which is then made', async () => {
    const { id } = await desk.decide(400)
    await during(fails, () => desk.transition('approve', id))
    expect(await desk.get(id)).toMatchObject({ status: 'awaiting_review', budgets: [] })
    expect(await desk.account()).toEqual(empty)
    expect((await desk.transition('approve', id)).body.status).toBe('approved')
    expect(await desk.account()).toEqual(full)
  })

  it('changes nothing, whatever the transition; the same call again does', async () => {
    const { id } = await desk.decide(100)
    const confirm = () => desk.transition('confirm', id, { amount: 60 }, { name: 'once' })
    await during(fails, confirm)
    expect((await desk.get(id)).status).toBe('authorized')
    expect(await desk.account()).toMatchObject({ spent: 0, reserved: 100 })
    expect((await confirm()).body.status).toBe('confirmed')
    await during(fails, () => desk.transition('correct', id, { result: 'rejected' }))
    expect(await desk.account()).toMatchObject({ spent: 60, reserved: 0 })
  })
})

describe('a commit whose outcome is not known', () => {
  it('counts a decision once that became durable; the same idempotency key finds it', async () => {
    await during(writesAndFails, () => desk.ask(100, { name: 'unknown' }))
    const again = await desk.ask(100, { name: 'unknown' })
    expect(again).toMatchObject({ status: 200, body: { effect: 'allow', permit_token: expect.any(String) } })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await desk.account()).toEqual({ spent: 0, reserved: 100, remaining: 300 })
    desk.server = await desk.server.restart()
    expect(await desk.account()).toEqual({ spent: 0, reserved: 100, remaining: 300 })
  })

  it('counts an approval and a settlement once', async () => {
    const { id } = await desk.decide(400)
    await during(writesAndFails, () => desk.transition('approve', id, {}, { name: 'a' }))
    expect((await desk.transition('approve', id, {}, { name: 'a' })).body.status).toBe('approved')
    expect(await desk.account()).toEqual(full)
    await succeed(desk.transition('claim', id, { holder: 'one' }))
    await during(writesAndFails, () => desk.transition('confirm', id, { amount: 250 }, { name: 'c' }))
    expect((await desk.transition('confirm', id, { amount: 250 }, { name: 'c' })).body.status).toBe('confirmed')
    expect(await desk.account()).toEqual({ spent: 250, reserved: 0, remaining: 150 })
    expect(await desk.told(id)).toEqual(['approved', 'claimed', 'confirmed'])
  })
})

describe('a commit that never ends', () => {
  it('holds the room while nobody knows, and gives it back when it turns out that nothing was written', async () => {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const arrived = new Promise<void>((resolve) => {
      faulty.commit = async () => {
        resolve()
        await released
        throw new StoreUnavailableError('The disk was away.')
      }
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await succeed(desk.server.call('GET', '/v1/keys/self'))
    const asked = desk.ask(100)
    await arrived
    monotonicMs = 5000
    await vi.advanceTimersByTimeAsync(5000)
    expect(await asked).toMatchObject({ status: 503, body: { code: 'store_unavailable' } })
    vi.useRealTimers()
    faulty.commit = null
    const simulated = async () => {
      const request = { agent_id: 'agent:desk', action: 'pay.create', context: { amount: 50 } }
      return (await succeed(desk.server.call('POST', '/v1/simulate', { body: { request } }))).budgets[0].remaining
    }
    const whileUnknown = await simulated()
    release()
    // Both as they would be with the 50 that are asked for.
    expect(whileUnknown).toBe(250)
    await vi.waitFor(async () => expect(await simulated()).toBe(350))
    await vi.waitFor(async () => expect((await desk.decide(100)).effect).toBe('allow'))
    expect(await desk.account()).toEqual({ spent: 0, reserved: 100, remaining: 300 })
  })
})

describe('a fault while evaluating again', () => {
  it('is a deny: nothing is approved or claimed, and a mended server does both', async () => {
    const [waiting, approved] = [await desk.decide(101), await desk.approved(102)]
    breaks = true
    expect(await desk.transition('approve', waiting.id)).toMatchObject({ status: 409, body: { code: 'policy_denies' } })
    expect(await desk.transition('claim', approved.id)).toMatchObject({ status: 409, body: { code: 'policy_denies' } })
    breaks = false
    expect(await desk.account()).toMatchObject({ spent: 0, reserved: 102 })
    expect((await desk.transition('approve', waiting.id)).status).toBe(200)
    expect((await desk.transition('claim', approved.id)).status).toBe(200)
  })
})

describe('a sweeper that cannot write', () => {
  it('is told of in the log, and catches up', async () => {
    const { id } = await desk.decide(100)
    faulty.commit = fails
    desk.clock.advance(5 * MINUTE_MS)
    const failed = { level: 'error', message: 'expired decisions could not be settled' }
    await vi.waitFor(() => expect(desk.server.logged).toContainEqual(expect.objectContaining(failed)), 20_000)
    expect((await desk.get(id)).status).toBe('expired')
    faulty.commit = null
    await vi.waitFor(
      async () => expect(await everyItem(desk.server, '/v1/audit?type=decision.expired')).toHaveLength(1),
      20_000,
    )
    expect(await desk.account()).toEqual({ spent: 100, reserved: 0, remaining: 300 })
  })
})
