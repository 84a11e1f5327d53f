/** What interrupts itself or awaits a review, and goes on later, with money in it. */
import { Countersign, DeniedError, type EnforcementEvent, type EnforcementOptions } from '@countersign/client'
import { afterEach, describe, expect, it } from 'vitest'
import { useDecisionPoint } from './running-point.js'

const point = useDecisionPoint()

describe('an action that pauses', () => {
  const clients: Countersign[] = []
  const open = (): Countersign => {
    const client = new Countersign({
      baseUrl: point().url,
      apiKey: point().apiKey,
      agentId: `agent:${crypto.randomUUID().slice(0, 8)}`,
      timeoutMs: 30_000,
      connectTimeoutMs: 30_000,
    })
    clients.push(client)
    return client
  }
  afterEach(() => {
    for (const client of clients.splice(0)) client.close()
  })

  /** A new agent whose payments of up to 10 are allowed, and all others reviewed, with a budget of 100. */
  async function startDesk(options: EnforcementOptions = {}) {
    const client = open()
    const events: EnforcementEvent[] = []
    const action = `desk.pay-${crypto.randomUUID().slice(0, 8)}`
    const { id: policy } = await client.policies.create({
      name: action,
      rules: [
        { action, effect: 'allow', conditions: { 'context.amount': { $lte: 10 } } },
        { action, effect: 'review' },
      ],
      budget: { limit: 100, unit: 'EUR', period: 'total' },
    })
    const settings = { settleTimeoutMs: 30_000, onEvent: (event: EnforcementEvent) => void events.push(event) }
    return {
      client,
      job: { idempotencyKey: crypto.randomUUID(), holder: 'job-1' },
      action,
      events,
      point: client.enforcement({ ...settings, ...options }),
      of: (amount: number) => ({ action, resource: 'order:8812', context: { amount } }),
      types: () => events.map(({ type }) => type),
      account: async () => {
        const [{ spent, reserved } = { spent: null, reserved: null }] = (await client.policies.budget(policy).page())
          .data
        return { spent, reserved }
      },
    }
  }

  it.each(['at-least-once', 'at-most-once'] as const)('runs %s to its end, for one payment', async (runs) => {
    const desk = await startDesk({ runs })
    const interrupt = new Error('which account?')
    const ways = { isPause: (error: unknown) => error === interrupt }
    for (const _pass of [1, 2]) {
      const failing = desk.point.run(
        await desk.point.admit(desk.of(7), desk.job),
        () => Promise.reject(interrupt),
        ways,
      )
      await expect(failing).rejects.toBe(interrupt)
      expect(await desk.account()).toEqual({ spent: 0, reserved: 7 })
    }
    expect(await desk.point.run(await desk.point.admit(desk.of(7), desk.job), () => 'paid', ways)).toBe('paid')
    expect(await desk.account()).toEqual({ spent: 7, reserved: 0 })
    expect(desk.types()).toEqual(['decision', 'decision', 'decision', 'settled'])
    await expect(desk.point.admit(desk.of(7), desk.job)).rejects.toMatchObject({ reason: 'settled' })
  })

  it.each(['at-least-once', 'at-most-once'] as const)(
    'goes on %s by the id of its decision, without a key',
    async (runs) => {
      const desk = await startDesk({ runs })
      const [byId, interrupt] = [{ pauseBy: 'id' } as const, new Error('which account?')]
      const first = await desk.point.admit(desk.of(7), byId)
      const failing = desk.point.run(first, () => Promise.reject(interrupt), {
        isPause: (error) => error === interrupt,
      })
      await expect(failing).rejects.toBe(interrupt)
      const goOn = { ...byId, goOnWith: first.decision?.id ?? '' }
      const leaving = new AbortController()
      const second = await desk.point.admit(desk.of(7), { ...goOn, signal: leaving.signal })
      leaving.abort(new Error('gone'))
      // It began in the first pass: nobody may say that it did not.
      expect(() => second.begin()).toThrow('gone')
      expect(await desk.account()).toEqual({ spent: 0, reserved: 7 })

      const both = await Promise.allSettled([1, 2].map(() => desk.point.admit(desk.of(7), goOn)))
      const [admission] = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      if (admission !== undefined) expect(await desk.point.run(admission, () => 'paid')).toBe('paid')
      expect(await desk.account()).toEqual({ spent: 7, reserved: 0 })
      await expect(desk.point.admit(desk.of(7), goOn)).rejects.toMatchObject({ reason: 'settled' })
    },
  )

  it('goes on by an id with the very same question alone', async () => {
    const desk = await startDesk()
    const { decision } = await desk.point.admit(desk.of(7))
    const goOn = { goOnWith: decision?.id ?? '' }
    const others = [
      desk.of(8),
      { ...desk.of(7), resource: 'order:1' },
      { ...desk.of(7), context: { amount: 7, to: 'me' } },
    ]
    for (const other of others) await expect(desk.point.admit(other, goOn)).rejects.toMatchObject({ reason: 'refused' })
    const unknown = desk.point.admit(desk.of(7), { goOnWith: `dec_${'0'.repeat(26)}` })
    await expect(unknown).rejects.toMatchObject({ reason: 'refused' })
    await expect(desk.point.admit(desk.of(7), { ...goOn, ...desk.job })).rejects.toMatchObject({
      reason: 'mapping_failed',
    })
    expect(await desk.account()).toEqual({ spent: 0, reserved: 7 })
  })

  it('goes on by its id with the review that it awaited, once of two at a time, and no repeat hears of it', async () => {
    const desk = await startDesk({ review: 'pause' })
    const waiting = await desk.point.admit(desk.of(50), { pauseBy: 'id' })
    const goOn = { pauseBy: 'id', goOnWith: waiting.decision?.id ?? '' } as const
    expect(await desk.point.admit(desk.of(50), goOn)).toMatchObject({ kind: 'paused', decision: waiting.decision })
    await desk.client.decisions.approve(goOn.goOnWith)
    const both = await Promise.allSettled([1, 2].map(() => desk.point.admit(desk.of(50), goOn)))
    expect(both.map((one) => (one.status === 'fulfilled' ? one.value.kind : one.reason.reason)).sort()).toEqual([
      'already_claimed',
      'permitted',
    ])
    const late = desk.point.admit(desk.of(50), { ...goOn, claimHolder: 'another-process' })
    await expect(late).rejects.toMatchObject({ reason: 'already_claimed' })
    const repeat = await desk.point.admit(desk.of(50), { pauseBy: 'id' })
    expect(repeat).toMatchObject({ kind: 'paused' })
    expect(repeat.decision?.id).not.toBe(goOn.goOnWith)
    await desk.client.decisions.decline(repeat.decision?.id ?? '')
    const declined = desk.point.admit(desk.of(50), { goOnWith: repeat.decision?.id ?? '' })
    await expect(declined).rejects.toMatchObject({ reason: 'declined' })
    expect(await desk.point.admit(desk.of(50))).toMatchObject({ kind: 'paused' })
  })

  it('of what runs at most once is held, and no other process can begin it', async () => {
    const desk = await startDesk({ runs: 'at-most-once' })
    const paused = await desk.point.admit(desk.of(7), desk.job)
    paused.begin()
    paused.pause()
    const redeeming = desk.client.permits.redeem(paused.permit_token ?? '')
    await expect(redeeming).rejects.toMatchObject({ code: 'permit_already_used' })
    expect(await desk.account()).toEqual({ spent: 0, reserved: 7 })
  })

  it('for a review asks a plain question, tells of no refusal, and runs once it is approved', async () => {
    const desk = await startDesk({ review: 'pause' })
    const first = await desk.point.admit(desk.of(50), { ...desk.job, tag: 'call-1' })
    expect(first).toMatchObject({
      kind: 'paused',
      reason: 'review_required',
      tag: 'call-1',
      asked: { ...desk.of(50), agent_id: first.asked?.agent_id },
      decision: { status: 'awaiting_review' },
      permit_token: null,
      question: `The agent ${first.asked?.agent_id} asks to do ${desk.action} on "order:8812".`,
      expires_at: first.decision?.expires_at,
    })
    expect((await desk.point.admit(desk.of(50), desk.job)).decision).toEqual(first.decision)
    expect(desk.types()).toEqual(['decision', 'decision'])
    expect(await first.settle.reject()).toEqual({ settle: 'leave', state: 'left' })

    await desk.client.decisions.approve(first.decision?.id ?? '')
    const admission = await desk.point.admit(desk.of(50), desk.job)
    expect(admission.kind).toBe('permitted')
    expect(await desk.point.run(admission, () => 'paid')).toBe('paid')
    expect(await desk.account()).toEqual({ spent: 50, reserved: 0 })
    await expect(desk.point.admit(desk.of(50), desk.job)).rejects.toMatchObject({ reason: 'settled' })
  })

  it.each([
    ['declined', 'declined'],
    ['withdrawn', 'withdrawn'],
  ] as const)('for a review that is %s is refused', async (how, reason) => {
    const desk = await startDesk({ review: 'pause' })
    const { decision } = await desk.point.admit(desk.of(50), desk.job)
    const id = decision?.id ?? ''
    if (how === 'declined') await desk.client.decisions.decline(id)
    else await desk.client.decisions.reject(id)
    await expect(desk.point.admit(desk.of(50), desk.job)).rejects.toMatchObject({ reason, decision_id: id })
    expect(desk.types().at(-1)).toBe('denied')
  })

  it('for a review is refused where nothing can pause', async () => {
    const desk = await startDesk({ review: 'pause' })
    const denied = { reason: 'review_required', decision_id: expect.stringMatching(/^dec_/) }
    let runs = 0
    const run = (): number => (runs += 1)
    await expect(desk.point.guard(desk.of(50), run, desk.job)).rejects.toMatchObject(denied)
    const pay = desk.point.protect(run, { ...desk.of(51) })
    await expect(pay()).rejects.toSatisfy(DeniedError.isInstance)
    const paused = await desk.point.admit(desk.of(52))
    await expect(desk.point.run(paused, run)).rejects.toMatchObject(denied)
    expect(() => paused.begin()).toThrow('review_required')
    expect(runs).toBe(0)
    expect(desk.types().filter((type) => type === 'denied')).toHaveLength(4)
    expect(await desk.client.decisions.get(paused.decision?.id ?? '')).toMatchObject({ status: 'awaiting_review' })
  })

  it('for a review runs where the mode is observe, and asks nobody', async () => {
    const desk = await startDesk({ review: 'pause', mode: 'observe' })
    const admission = await desk.point.admit(desk.of(50))
    expect(admission).toMatchObject({ kind: 'observed', would: 'review' })
    expect(await desk.point.run(admission, () => 'ran')).toBe('ran')
    await desk.client.flush()
    expect(await desk.client.decisions.get(admission.decision?.id ?? '')).toMatchObject({ status: 'rejected' })
    expect(desk.types()).not.toContain('denied')
  })
})
