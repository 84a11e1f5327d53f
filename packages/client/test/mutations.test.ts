/** Arguments that are changed after they were asked about, in every way and at every moment: what runs is what was asked. */
import { inspect } from 'node:util'
import { drawsOf } from '@countersign/testkit'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { JsonObject } from '../src/index.js'
import { memoryClient, permission, settled } from './memory-client.js'

const RUNS = drawsOf(1000)
const MUTATIONS_IN_ALL = drawsOf(10_000)

/** When a caller changes what it gave away. */
const MOMENTS = ['called', 'mapped', 'asked', 'answered', 'told'] as const
type Moment = (typeof MOMENTS)[number]

interface Change {
  readonly moment: Moment
  /** Which of all that can be changed, and how. */
  readonly where: number
  readonly how: number
}

const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null), fc.bigInt())
const { data } = fc.letrec((tie) => ({
  data: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.date({ noInvalidDate: true }),
    fc.array(tie('data'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('amount', 'to', 'lines', 'note'), tie('data'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))
const args = fc.array(
  fc.dictionary(fc.constantFrom('amount', 'to', 'at', 'lines'), data, {
    minKeys: 1,
    maxKeys: 4,
    noNullPrototype: true,
  }),
  {
    minLength: 1,
    maxLength: 3,
  },
)
const changes = fc.array(fc.record<Change>({ moment: fc.constantFrom(...MOMENTS), where: fc.nat(), how: fc.nat() }), {
  minLength: 4,
  maxLength: 10,
})

let mutations = 0

/** Changes something in it, if it can be changed at all. */
function change(root: unknown, { where, how }: Change): void {
  const before = picture(root)
  const all = [...within(root)]
  const target = all[where % all.length]
  if (target === undefined) return
  try {
    changeOne(target, how)
  } catch {
    // It is frozen.
  }
  if (picture(root) !== before) mutations += 1
}

function changeOne(target: object, how: number): void {
  if (target instanceof Date) target.setTime(target.getTime() === 0 ? 1 : 0)
  else if (Array.isArray(target))
    [() => target.push(1e9), () => target.splice(0, 9, 1e9), () => target.reverse()][how % 3]?.()
  else {
    const record = target as Record<string, unknown>
    const names = Object.keys(record)
    const name = names[how % (names.length || 1)] ?? 'amount'
    const ways = [
      () => Object.assign(record, { amount: 1e9 + how }),
      () => Object.assign(record, { [name]: { evil: true } }),
      () => delete record[name],
      () => Object.defineProperty(record, name, { get: () => 1e9, enumerable: true, configurable: true }),
    ]
    ways[how % ways.length]?.()
  }
}

function* within(value: unknown): Generator<object> {
  if (typeof value !== 'object' || value === null) return
  yield value
  for (const member of Object.values(value)) yield* within(member)
}

function picture(value: unknown): string {
  return inspect(value, { depth: 20, maxArrayLength: null, maxStringLength: null })
}

/** Everything that is changed by one call: what it was given, and every copy that anything was ever shown. */
class Meddler {
  readonly #script: readonly Change[]
  readonly #reached: unknown[] = []

  constructor(script: readonly Change[]) {
    this.#script = script
  }

  reach(value: unknown): void {
    this.#reached.push(value)
  }

  meddle(at: Moment): void {
    for (const one of this.#script) {
      if (one.moment === at) for (const root of this.#reached) change(root, one)
    }
  }
}

it(`${MUTATIONS_IN_ALL} changes of arguments reach no function that is protected`, async () => {
  let meddler = new Meddler([])
  let asked = ''
  const client = memoryClient(async (sent) => {
    if (sent.path !== '/v1/decisions') return settled(sent)
    asked = String((sent.body.context as JsonObject).picture)
    meddler.meddle('asked')
    const answer = permission(sent)
    await Promise.resolve()
    meddler.meddle('answered')
    return answer
  })
  const look = (given: unknown[]): string => {
    meddler.reach(given)
    meddler.meddle('mapped')
    return 'order.pay'
  }
  let ran: string[] = []
  const act = client.protect((...given: object[]) => void ran.push(picture(given)), {
    action: (...given) => look(given),
    resource: (...given) => `order:${look(given).length}`,
    context: (...given) => {
      const seen = picture(given)
      look(given)
      return { picture: seen }
    },
    onEvent: () => meddler.meddle('told'),
  })
  await fc.assert(
    fc.asyncProperty(args, changes, async (drawn, script) => {
      const given = structuredClone(drawn)
      meddler = new Meddler(script)
      ran = []
      const meant = picture(given)
      meddler.reach(given)
      const running = act(...given)
      meddler.meddle('called')
      await running
      expect(asked).toBe(meant)
      expect(ran).toEqual([meant])
    }),
    { numRuns: RUNS },
  )
  expect(mutations).toBeGreaterThan(MUTATIONS_IN_ALL)
}, 120_000)

it('changes of a question reach no action that is guarded', async () => {
  let meddler = new Meddler([])
  let asked: unknown
  const client = memoryClient((sent) => {
    if (sent.path !== '/v1/decisions') return settled(sent)
    asked = sent.body.context
    meddler.meddle('asked')
    return permission(sent)
  })
  // With a member of that name it would be refused, no matter who changes what.
  const value = fc.jsonValue({ maxDepth: 3 }).filter((one) => !JSON.stringify(one).includes('__proto__'))
  const context = fc.dictionary(fc.constantFrom('amount', 'to', 'lines'), value, { minKeys: 1, noNullPrototype: true })
  await fc.assert(
    fc.asyncProperty(context, changes, async (drawn, script) => {
      const given = structuredClone(drawn)
      meddler = new Meddler(script)
      const meant = JSON.parse(JSON.stringify(given))
      const request = { action: 'order.pay', resource: 'order:1', context: given as JsonObject }
      meddler.reach(request)
      let ran: unknown
      const running = client.guard(
        request,
        (one) => {
          ran = JSON.parse(JSON.stringify(one))
        },
        { onEvent: () => meddler.meddle('told') },
      )
      meddler.meddle('called')
      await running
      expect(ran).toEqual({ agent_id: 'agent:a', action: 'order.pay', resource: 'order:1', context: meant })
      expect(asked).toEqual(meant)
    }),
    { numRuns: RUNS },
  )
}, 120_000)
