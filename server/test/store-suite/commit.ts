import { expect } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { Conflict, Store } from '#server/ports/store/store'
import {
  agentOf,
  createOf,
  type Draft,
  decisionOf,
  idempotencyOf,
  idOf,
  instant,
  keyOf,
  LogPen,
  policyOf,
  updateOf,
  writeAgentOf,
  writeKeyOf,
  writePolicyOf,
} from './documents.js'
import { type StoreCase, WHOLE } from './store-case.js'

/** A mutation that meets a conflict in a store that holds `PRESENT`. */
interface Clash {
  readonly of: string
  readonly conflict: Conflict
  readonly draft: Draft
}

const DECISION = decisionOf(1)
const POLICY = policyOf(1, 1)
const PRESENT: readonly Draft[] = [
  { change: createOf(DECISION), idempotency: idempotencyOf(DECISION.id) },
  { change: writePolicyOf(POLICY) },
  { change: writeAgentOf(agentOf('agent:present')) },
  { change: writeKeyOf(keyOf(1)) },
]

const CLASHES: readonly Clash[] = [
  {
    of: 'a decision whose id is taken',
    conflict: 'version',
    draft: { change: createOf(decisionOf(1, { action: 'other.action' })) },
  },
  {
    of: 'a decision at another version',
    conflict: 'version',
    draft: { change: updateOf({ ...DECISION, version: 2 }, { status: 'confirmed' }) },
  },
  { of: 'a decision that is not there', conflict: 'version', draft: { change: updateOf(decisionOf(99), {}) } },
  {
    of: 'a policy at another version',
    conflict: 'version',
    draft: { change: writePolicyOf(policyOf(1, 2, { version: 3 })) },
  },
  { of: 'a policy whose id is taken', conflict: 'version', draft: { change: writePolicyOf(policyOf(1, 2)) } },
  { of: 'a policy that skips a set', conflict: 'version', draft: { change: writePolicyOf(policyOf(2, 3)) } },
  { of: 'a policy that repeats a set', conflict: 'version', draft: { change: writePolicyOf(policyOf(2, 1)) } },
  {
    of: 'an agent at another version',
    conflict: 'version',
    draft: { change: writeAgentOf(agentOf('agent:present', { version: 3 })) },
  },
  { of: 'an agent that is there', conflict: 'version', draft: { change: writeAgentOf(agentOf('agent:present')) } },
  {
    of: 'an agent that is not there',
    conflict: 'version',
    draft: { change: writeAgentOf(agentOf('agent:absent', { version: 2 })) },
  },
  { of: 'a key at another version', conflict: 'version', draft: { change: writeKeyOf(keyOf(1, { version: 3 })) } },
  { of: 'a key that is there', conflict: 'version', draft: { change: writeKeyOf(keyOf(1)) } },
  { of: 'a key that is not there', conflict: 'version', draft: { change: writeKeyOf(keyOf(9, { version: 2 })) } },
  {
    of: 'a policy name that is taken',
    conflict: 'policy_name',
    draft: { change: writePolicyOf(policyOf(2, 2, { document: POLICY.document })) },
  },
  {
    of: 'a new key with the secret of another',
    conflict: 'key_secret',
    draft: { change: writeKeyOf(keyOf(8, { secrets: keyOf(1).secrets })) },
  },
  {
    of: 'an idempotency key that is taken',
    conflict: 'idempotency_key',
    draft: { change: createOf(decisionOf(98)), idempotency: idempotencyOf(idOf('dec', 98)) },
  },
  {
    of: 'an index that is taken',
    conflict: 'log_index',
    draft: { change: createOf(decisionOf(97)), entry: { index: 0 } },
  },
]

const POSITIONS = { first: 0, middle: 2, last: 4 } as const
const GROUP = 5

/** The mutations around a clash; each leaves a trace of every kind. */
function bystander(number: number): Draft {
  const decision = decisionOf(number, { agent_id: `agent:bystander-${number}` })
  return { change: createOf(decision), idempotency: idempotencyOf(decision.id, { key: `bystander-${number}` }) }
}

async function tracesOf(store: Store, number: number): Promise<readonly boolean[]> {
  const decision = await store.decisions.get(idOf('dec', number))
  const agent = await store.agents.get(`agent:bystander-${number}`)
  const entries = await store.audit.list({ subject: idOf('dec', number) }, WHOLE)
  const name = { key_id: idOf('key', 1), operation: 'POST /v1/decisions', key: `bystander-${number}` }
  const idempotency = await store.idempotency.get(name, instant(number))
  return [decision !== null, agent !== null, entries.items.length === 1, idempotency !== null]
}

/** Everything that a clash must leave as it was. */
async function pictureOf(store: Store) {
  return {
    decisions: (await store.decisions.list({ agents: null, now: instant(0) }, WHOLE)).items,
    policies: await store.policies.load(),
    agents: (await store.agents.list(null, WHOLE)).items,
    keys: await store.keys.load(),
    entries: (await store.audit.list({}, WHOLE)).items,
    log: await store.openLog(),
    idempotency: await store.idempotency.get(idempotencyOf(''), instant(0)),
  }
}

const clashCases = CLASHES.flatMap(({ of, conflict, draft }) =>
  Object.entries(POSITIONS).map(
    ([position, at]): StoreCase => ({
      title: `keeps what is before ${of} at the ${position} position of a group, and nothing else`,
      async run({ store, reopen }) {
        const pen = await LogPen.of(store)
        expect(await pen.commit(...PRESENT)).toEqual({ written: PRESENT.length, conflict: null })
        const before = await pictureOf(store)
        const numbers = [...Array(GROUP).keys()].map((i) => 10 + i)
        const group = numbers.map((number, i) => (i === at ? draft : bystander(number)))

        expect(await pen.commit(...group)).toEqual({ written: at, conflict })

        const left = position === 'middle' ? await reopen() : store
        if (at === 0) expect(await pictureOf(left)).toEqual(before)
        for (const [i, number] of numbers.entries()) {
          expect(await tracesOf(left, number)).toEqual(Array(4).fill(i < at))
        }
        expect((await left.openLog()).next_index).toBe(PRESENT.length + at)
        const later = await (await LogPen.of(left)).commit(...group.slice(at + 1))
        expect(later).toEqual({ written: GROUP - at - 1, conflict: null })
      },
    }),
  ),
)

export const COMMIT_CASES: readonly StoreCase[] = [
  ...clashCases,
  {
    title: 'writes a group whole, each mutation building on the one before',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const decision = decisionOf(1)
      const update = updateOf(decision, { status: 'confirmed' })
      expect(
        await pen.commit(createOf(decision), update, writePolicyOf(policyOf(1, 1)), writePolicyOf(policyOf(2, 2))),
      ).toEqual({
        written: 4,
        conflict: null,
      })
      expect((await store.decisions.get(decision.id))?.decision).toEqual(update.decision)
      expect((await store.policies.load()).policy_set).toBe(2)
    },
  },
  {
    title: 'writes a change and its entry and its idempotency record together',
    async run({ store }) {
      const pen = await LogPen.of(store)
      for (let number = 1; number <= 3; number += 1) {
        await pen.commit(bystander(number))
        expect(await tracesOf(store, number)).toEqual([true, true, true, true])
      }
    },
  },
  {
    title: 'lets reads see a commit as soon as it has resolved, again and again',
    async run({ store }) {
      const pen = await LogPen.of(store)
      let decision = decisionOf(1)
      await pen.commit(createOf(decision))
      for (let i = 0; i < 20; i += 1) {
        const update = updateOf(decision, { holder: { name: `holder-${i}` } })
        await pen.commit(update)
        decision = update.decision
        expect((await store.decisions.get(decision.id))?.decision).toEqual(decision)
        expect((await store.decisions.list({ agents: null, now: instant(0) }, WHOLE)).items[0]?.decision).toEqual(
          decision,
        )
      }
    },
  },
  {
    title: 'lets one of two writers win that start from the same version',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const decision = decisionOf(1)
      await pen.commit(createOf(decision))
      const first = updateOf(decision, { holder: { name: 'first' } })
      expect(await pen.commit(first)).toEqual({ written: 1, conflict: null })
      expect(await pen.commit(updateOf(decision, { holder: { name: 'second' } }))).toEqual({
        written: 0,
        conflict: 'version',
      })
      expect((await store.decisions.get(decision.id))?.decision).toEqual(first.decision)
    },
  },
  {
    title: 'names the first of several conflicts: index, idempotency key, version, name or secret',
    async run({ store }) {
      const pen = await LogPen.of(store)
      await pen.commit(...PRESENT)
      const idempotency = idempotencyOf(DECISION.id)
      const stale = writePolicyOf(policyOf(1, 2, { version: 3 }))
      const nameless = writePolicyOf(policyOf(2, 2, { document: POLICY.document }))
      const clashing = async (draft: Draft) => (await pen.commit(draft)).conflict
      expect(await clashing({ change: stale, idempotency, entry: { index: 0 } })).toBe('log_index')
      expect(await clashing({ change: stale, idempotency })).toBe('idempotency_key')
      expect(await clashing({ change: nameless, idempotency })).toBe('idempotency_key')
      expect(await clashing({ change: { ...nameless, expected_version: 1 } })).toBe('version')
      expect(await clashing({ change: nameless })).toBe('policy_name')
      const twin = writeKeyOf(keyOf(8, { version: 2, secrets: keyOf(1).secrets }))
      expect(await clashing({ change: twin })).toBe('version')
      expect(await clashing({ change: { ...twin, expected_version: 0 } })).toBe('key_secret')
    },
  },
  {
    title: 'takes an empty group',
    async run({ store }) {
      const pen = await LogPen.of(store)
      expect(await pen.commit()).toEqual({ written: 0, conflict: null })
    },
  },
  {
    title: 'continues one log without a gap over restarts',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      expect(await store.openLog()).toEqual({ log: pen.log, next_index: 0 })
      await pen.commit({ kind: 'entry.only' }, { kind: 'entry.only' })
      const reopened = await reopen()
      expect(await reopened.openLog()).toEqual({ log: pen.log, next_index: 2 })
      await (await LogPen.of(reopened)).commit({ kind: 'entry.only' })
      const { items } = await reopened.audit.list({}, WHOLE)
      expect(items.map(({ log, index }) => [log, index])).toEqual([2, 1, 0].map((index) => [pen.log, index]))
    },
  },
  {
    title: 'writes nothing before the log was opened',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      await pen.commit({ kind: 'entry.only' })
      const reopened = await reopen()
      await expect(reopened.commit(pen.seal([{ change: { kind: 'entry.only' } }]))).rejects.toThrow(
        StoreUnavailableError,
      )
      expect((await reopened.openLog()).next_index).toBe(1)
    },
  },
]
