/**
 * A kill between any two steps of a transition: what was acknowledged is there, what the accounts hold is what the
 * decisions add up to, and the same call again makes the transition once.
 */
import { SEED, seededRandom, stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { DecisionLife } from './decision-life.js'
import type { KillPoint } from './driven-server.js'
import { removeDirectories } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** Kills of one data directory; then the next one begins empty, so that looking through all of it stays quick. */
const KILLS_OF_A_LIFE = 25

interface Transition {
  readonly name: string
  readonly from: string
  readonly to: string
  readonly type: string
  readonly body?: object
}

const TRANSITIONS: readonly Transition[] = [
  { name: 'confirm', from: 'authorized', to: 'confirmed', type: 'decision.confirmed', body: { amount: 7.25 } },
  { name: 'reject', from: 'authorized', to: 'rejected', type: 'decision.rejected' },
  { name: 'reject', from: 'approved', to: 'rejected', type: 'decision.rejected' },
  { name: 'approve', from: 'awaiting_review', to: 'approved', type: 'decision.approved' },
  { name: 'claim', from: 'approved', to: 'authorized', type: 'decision.claimed', body: { holder: 'one' } },
  { name: 'correct', from: 'confirmed', to: 'rejected', type: 'decision.corrected', body: { result: 'rejected' } },
]

type Step = KillPoint['step']
type Die = (step: Step, delayMs: number) => Promise<void>

/** Dies while a request is on its way; gives the process that is no more its successor. */
async function dieOf(life: DecisionLife, call: Promise<unknown>): Promise<void> {
  const { server } = life
  await expect(call).rejects.toThrow()
  expect(await server.end()).toEqual({ code: null, signal: 'SIGKILL' })
  await life.restart()
  life.expectBalance()
}

/** The status that a kill at the step leaves behind: at most one of the two. */
function possible(step: Step, before: string, after: string): string[] {
  if (step === 'inside') return [before, after]
  return [step === 'after' ? after : before]
}

const decide =
  (life: DecisionLife): Die =>
  async (step, delay_ms) => {
    const request = life.request(20)
    const name = life.newName()
    await life.server.killAt({ type: 'decision.created', step, delay_ms })
    await dieOf(life, life.send('/v1/decisions', request, name))
    const found = async () =>
      (await life.list('/v1/decisions')).filter(
        ({ context }) => JSON.stringify(context) === JSON.stringify(request.context),
      )
    const before = (await found()).map(({ id }) => id)
    expect(possible(step, '0', '1')).toContain(String(before.length))
    await life.expectAcknowledged(null)
    const { id } = await life.post('/v1/decisions', request, name)
    expect((await found()).map((decision) => decision.id)).toEqual([id])
    expect([id]).toEqual(before.length === 1 ? before : [id])
    expect(await life.entries(id, 'decision.created')).toHaveLength(1)
  }

const transition =
  (life: DecisionLife, { name, from, to, type, body = {} }: Transition): Die =>
  async (step, delay_ms) => {
    const id = await life.prepare(from)
    const path = `/v1/decisions/${id}/${name}`
    const key = life.newName()
    await life.server.killAt({ type, step, delay_ms })
    await dieOf(life, life.send(path, body, key))
    expect(possible(step, from, to)).toContain(await life.statusOf(id))
    await life.expectAcknowledged(id)
    expect(await life.post(path, body, key)).toMatchObject({ id, status: to })
    expect(await life.entries(id, type)).toHaveLength(1)
  }

const expire =
  (life: DecisionLife): Die =>
  async (step, delay_ms) => {
    const id = await life.prepare('authorized')
    const { server } = life
    await server.killAt({ type: 'decision.expired', step, delay_ms })
    // The process may be gone before it says that it took the time.
    void life.passEnd().catch(() => {})
    expect(await server.end()).toEqual({ code: null, signal: 'SIGKILL' })
    await life.restart()
    life.expectBalance()
    await life.expectAcknowledged(null)
    expect(await life.statusOf(id)).toBe('expired')
    expect(await life.entries(id, 'decision.expired')).toHaveLength(1)
  }

/** Every transition with every place to die at. */
const PLACES: readonly { readonly what: string; readonly step: Step; readonly die: (life: DecisionLife) => Die }[] = (
  ['before', 'inside', 'after'] as const
)
  .flatMap((step) => [
    { what: 'decide', step: step as Step, die: decide },
    { what: 'expire', step: step as Step, die: expire },
    ...TRANSITIONS.map((one) => ({
      what: `${one.name} from ${one.from}`,
      step: step as Step,
      die: (life: DecisionLife) => transition(life, one),
    })),
  ])
  .concat([
    { what: 'decide', step: 'reserve', die: decide },
    { what: 'approve', step: 'reserve', die: (life) => transition(life, TRANSITIONS[3] as Transition) },
  ])

it(`keeps accounts and decisions together, killed ${stress.settle_kills} times`, async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const drawn = PLACES.map((place) => ({ place, at: random() }))
  const places = drawn.sort((a, b) => a.at - b.at).map(({ place }) => place)
  let life = new DecisionLife()
  for (let kill = 0; kill < stress.settle_kills; kill += 1) {
    if (kill % KILLS_OF_A_LIFE === 0) {
      await endChildren()
      life = new DecisionLife()
      await life.begin()
    }
    const { what, step, die } = places[kill % places.length] as (typeof PLACES)[number]
    const delayMs = random() * 3
    await die(life)(step, delayMs).catch((fault: Error) => {
      throw new Error(`killed at ${what}, ${step} (${delayMs.toFixed(2)} ms): ${fault.message}`, { cause: fault })
    })
    life.expectBalance()
  }
})
