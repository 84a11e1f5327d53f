/** What runs at most once, and what an earlier run of the same job may have begun. */
import { expect, it, vi } from 'vitest'
import { denialOf } from './enforcing.js'
import { type Answering, memoryClient, permission, type Sent, settled } from './memory-client.js'
import { rejectionOf } from './transports.js'

const asked = { action: 'a.b' }
const again = { idempotencyKey: 'invoice-17', holder: 'job-17' }
const runs = 'at-most-once' as const

/** A decision point that decides once, redeems as it is told, and says which calls came. */
function pointThat(redeem: Answering) {
  const calls: string[] = []
  let decided: readonly [number, unknown] | undefined
  const client = memoryClient((sent: Sent) => {
    const call = sent.path.split('/').at(-1) ?? ''
    calls.push(call)
    if (call === 'redeem') return redeem(sent)
    if (call !== 'decisions') return settled(sent)
    decided ??= permission(sent)
    return decided
  })
  return { client, calls, redeemed: () => decided ?? [404, {}] }
}

const problem = (status: number, code: string) => [status, { code, title: code, status, detail: code }] as const

it('says which scope the key lacks, and runs nothing', async () => {
  const { client } = pointThat(() => problem(403, 'insufficient_scope'))
  const action = vi.fn()
  expect(await denialOf(client.guard(asked, action, { runs }))).toMatchObject({
    reason: 'refused',
    decision_id: expect.stringMatching(/^dec_/),
    advice: { retry: 'never', message: expect.stringContaining('permits:redeem') },
    cause: { code: 'insufficient_scope' },
  })
  expect(action).not.toHaveBeenCalled()
})

it('leaves what it could not redeem where an earlier run may have, and tries again when asked again', async () => {
  const answers = [problem(503, 'store_unavailable'), undefined]
  const { client, calls, redeemed } = pointThat(() => answers.shift() ?? redeemed())
  expect(await denialOf(client.guard(asked, () => 1, { runs, ...again }))).toMatchObject({ reason: 'unavailable' })
  expect(await client.guard(asked, () => 'ran', { runs, ...again })).toBe('ran')
  expect(await client.flush()).toBe(0)
  expect(calls).toEqual(['decisions', 'redeem', 'decisions', 'redeem', 'confirm'])
})

it('takes no other decision for the one that it redeemed', async () => {
  const { client } = pointThat(() => permission({ path: '', body: { agent_id: 'agent:a', ...asked } }))
  const action = vi.fn()
  expect(await denialOf(client.guard(asked, action, { runs }))).toMatchObject({ reason: 'unavailable' })
  expect(action).not.toHaveBeenCalled()
})

it('runs nothing when the signal is aborted while it redeems', async () => {
  const aborting = new AbortController()
  const { client, calls, redeemed } = pointThat(() => {
    aborting.abort(new Error('enough'))
    return redeemed()
  })
  const action = vi.fn()
  const error = await rejectionOf(client.guard(asked, action, { runs, signal: aborting.signal }))
  expect(error).toMatchObject({ message: 'enough' })
  expect(await client.flush()).toBe(0)
  expect(action).not.toHaveBeenCalled()
  expect(calls).toEqual(['decisions', 'redeem', 'reject'])
})

it('redeems nothing in the mode observe', async () => {
  const { client, calls } = pointThat(() => problem(500, 'internal_error'))
  expect(await client.guard(asked, () => 'ran', { runs, mode: 'observe' })).toBe('ran')
  expect(calls).toEqual(['decisions', 'confirm'])
})

it.each([
  ['rejected, where nobody else can have begun it', { idempotencyKey: 'invoice-17' }, ['decisions', 'reject']],
  ['left, where an earlier run of the job may have begun it', again, ['decisions']],
])('what is aborted before it begins is %s', async (_what, named, expected) => {
  const aborting = new AbortController()
  const { client, calls } = pointThat(() => problem(500, 'internal_error'))
  const onEvent = ({ type }: { type: string }) => {
    if (type === 'decision') aborting.abort(new Error('enough'))
  }
  const action = vi.fn()
  await rejectionOf(client.guard(asked, action, { ...named, signal: aborting.signal, onEvent }))
  expect(await client.flush()).toBe(0)
  expect(calls).toEqual(expected)
  expect(action).not.toHaveBeenCalled()
})

it('leaves what is over when it begins, where an earlier run of the job may have begun it', async () => {
  const { client, calls } = pointThat(() => problem(500, 'internal_error'))
  let now = Date.now()
  const point = client.enforcement({ now: () => now })
  const admission = await point.admit(asked, again)
  now += 86_400_000
  expect(() => admission.begin()).toThrow('expired')
  expect(await client.flush()).toBe(0)
  expect(calls).toEqual(['decisions'])
})
