/** An answer that comes when nobody waits for it any more holds no budget, and functions of the caller's break nothing. */
import { expect, it, vi } from 'vitest'
import type { ActionOutcome, Settle, Settlement } from '../src/index.js'
import { denialOf } from './enforcing.js'
import { memoryClient, permission, type Sent, settled } from './memory-client.js'

const asked = { action: 'a.b' }

/** A decision point that answers questions only once it is let, and what it was told besides. */
function slowPoint() {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const transitions: Sent[] = []
  const client = memoryClient(async (sent) => {
    if (!sent.path.endsWith('/decisions')) {
      transitions.push(sent)
      return settled(sent)
    }
    await opened
    return permission(sent)
  })
  return { client, open, transitions }
}

it.each([{}, { idempotencyKey: 'call-1' }, { holder: 'run-77' }])(
  'takes back what was allowed too late, with %j',
  async (named) => {
    const { client, open, transitions } = slowPoint()
    const action = vi.fn()
    expect(await denialOf(client.guard(asked, action, { ...named, timeoutMs: 50 }))).toMatchObject({
      reason: 'unavailable',
    })
    open()
    expect(await client.flush()).toBe(0)
    expect(transitions.map(({ path, body }) => [path.split('/').at(-1), body])).toEqual([
      ['reject', { reason: 'it did not begin' }],
    ])
    expect(action).not.toHaveBeenCalled()
  },
)

it('leaves what may be asked for again by its key and holder', async () => {
  const { client, open, transitions } = slowPoint()
  const again = { idempotencyKey: 'job-1', holder: 'run-77' }
  await denialOf(client.guard(asked, () => 1, { ...again, timeoutMs: 50 }))
  open()
  expect(await client.guard(asked, () => 'ran', again)).toBe('ran')
  expect(transitions.map(({ path }) => path.split('/').at(-1))).toEqual(['confirm'])
})

it('has one listener on a signal that many guards share, and none in the end', async () => {
  const { client, open } = slowPoint()
  const { signal } = new AbortController()
  const [added, removed] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')]
  const results = Array.from({ length: 30 }, () => client.guard(asked, () => 'ran', { signal }))
  await vi.waitFor(() => expect(added).toHaveBeenCalled())
  open()
  expect(new Set(await Promise.all(results))).toEqual(new Set(['ran']))
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1])
})

it('lets all who share a signal go when it is aborted', async () => {
  const { client } = slowPoint()
  const aborting = new AbortController()
  const results = Array.from({ length: 30 }, () => client.guard(asked, () => 'ran', { signal: aborting.signal }))
  aborting.abort(new Error('enough'))
  for (const { status, ...one } of await Promise.allSettled(results))
    expect([status, one]).toMatchObject(['rejected', { reason: { message: 'enough' } }])
})

it('settles once, also when what says how to settle settles by itself', async () => {
  const { client, open, transitions } = slowPoint()
  open()
  let settle: Settle | undefined
  const settleOn = (_outcome: ActionOutcome): Settlement => {
    void settle?.confirm({ amount: 7 })
    return { settle: 'confirm', amount: 5 }
  }
  const admission = await client.enforcement({ settleOn }).admit(asked)
  settle = admission.settle
  admission.begin()
  await admission.settle.by({ kind: 'succeeded' })
  await client.flush()
  expect(transitions.map(({ body }) => body)).toEqual([{ amount: 5 }])
})

it('takes no promise where a value is needed at once, and none of them ends the process', async () => {
  const { client, open, transitions } = slowPoint()
  open()
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  const promised = (async () => {
    throw new Error('later')
  }) as never
  const mapped = { action: 'a.b' }
  for (const wrong of [{ action: promised }, { ...mapped, resource: promised }, { ...mapped, context: promised }])
    expect(await denialOf(client.protect(() => 1, wrong)())).toMatchObject({ reason: 'mapping_failed' })
  expect(await denialOf(client.protect(() => 1, { ...mapped, signal: promised })())).toMatchObject({
    reason: 'mapping_failed',
  })
  expect(await denialOf(client.enforcement().admit(promised))).toMatchObject({ reason: 'mapping_failed' })
  const events: unknown[] = []
  const onEvent = ({ type }: { type: string }): void => void events.push(type)
  expect(await client.guard(asked, () => 'ran', { settleOn: promised, onEvent })).toBe('ran')
  expect(events).toEqual(['decision', 'settlement_failed'])
  expect(transitions).toEqual([])
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})

it.each([4, '4', null, { amout: 4 }])('confirms nothing by %j, which names no amount', async (wrong) => {
  const { client, open, transitions } = slowPoint()
  open()
  const admission = await client.enforcement().admit(asked)
  admission.begin()
  expect(await admission.settle.confirm(wrong as never)).toEqual({ settle: 'leave', state: 'refused' })
  expect(transitions).toEqual([])
})

it.each([null, '0', undefined, Number.NaN])('runs nothing by a clock that says %j', async (at) => {
  const { client, open } = slowPoint()
  open()
  const action = vi.fn()
  expect(await denialOf(client.guard(asked, action, { now: () => at as never }))).toMatchObject({ reason: 'expired' })
  expect(action).not.toHaveBeenCalled()
})

it.each([{ permit_token: '' }, { permit_token: 'garbage' }, { expires_at: '9999' }, { expires_at: '2999-01-01' }])(
  'takes no answer with %j for a decision',
  async (change) => {
    const client = memoryClient((sent) => permission(sent, change))
    expect(await denialOf(client.guard(asked, () => 1))).toMatchObject({ reason: 'unavailable' })
  },
)

it('takes no member of an answer from a prototype', async () => {
  const client = memoryClient((sent) => {
    const [status, { status: _status, ...decision }] = permission(sent) as [number, Record<string, unknown>]
    return [status, decision]
  })
  Object.assign(Object.prototype, { status: 'authorized' })
  try {
    expect(await denialOf(client.guard(asked, () => 1))).toMatchObject({ reason: 'unavailable' })
  } finally {
    delete (Object.prototype as { status?: string }).status
  }
})

it('tries nothing again after the time limit, and tells when to ask again', async () => {
  const away = { code: 'store_unavailable', title: '', status: 503 }
  let asked = 0
  const client = memoryClient(
    () => {
      asked += 1
      return [503, away, { 'retry-after': '2' }]
    },
    { maxRetries: 2 },
  )
  const denied = await denialOf(client.guard({ action: 'a.b' }, () => 1, { timeoutMs: 1_000 }))
  expect(denied).toMatchObject({ reason: 'unavailable', retryAfterSeconds: 2 })
  expect(asked).toBe(1)
})
