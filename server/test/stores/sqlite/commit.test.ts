/** What the mutations of one group do to one another: the group is as if each had been written alone. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '#server/ports/store/store'
import {
  accountOf,
  agentOf,
  createOf,
  type Draft,
  decisionOf,
  heldIn,
  idempotencyOf,
  instant,
  LogPen,
  spentIn,
  updateOf,
  WHOLE,
  writeAgentOf,
} from '../../store-suite/index.js'
import { openInNewDirectory } from './open-in-new-directory.js'

describe('a group of mutations', () => {
  let store: Store
  let destroy: () => Promise<void>
  let pen: LogPen
  beforeEach(async () => {
    const opened = await openInNewDirectory()
    store = opened.store
    destroy = opened.destroy
    pen = await LogPen.of(store)
  })
  afterEach(() => destroy())

  const ACCOUNT = accountOf()
  const HELD = decisionOf(1, { postings: [heldIn(ACCOUNT, 5n)] })
  const SPENT = updateOf(HELD, { status: 'confirmed', postings: [spentIn(ACCOUNT, 5n)] })
  const balance = async () => (await store.accounts.get([ACCOUNT]))[0]

  it.each<{ what: string; group: readonly Draft[]; written: number; conflict: string }>([
    {
      what: 'two calls of one name',
      group: [1, 2].map((n) => ({ change: createOf(decisionOf(n)), idempotency: idempotencyOf(decisionOf(n).id) })),
      written: 1,
      conflict: 'idempotency_key',
    },
    {
      what: 'one decision twice',
      group: [{ change: createOf(decisionOf(1)) }, { change: createOf(decisionOf(1)) }],
      written: 1,
      conflict: 'version',
    },
    {
      what: 'an update before its decision',
      group: [{ change: updateOf(decisionOf(1), {}) }, { change: createOf(decisionOf(1)) }],
      written: 0,
      conflict: 'version',
    },
    {
      what: 'two updates of one version',
      group: [{ change: createOf(HELD) }, { change: SPENT }, { change: SPENT }, { change: createOf(decisionOf(9)) }],
      written: 2,
      conflict: 'version',
    },
  ])('with $what is written up to the conflict', async ({ group, written, conflict }) => {
    expect(await pen.commit(...group)).toEqual({ written, conflict })
    expect((await store.audit.list({}, WHOLE)).items).toHaveLength(written)
    expect((await store.openLog()).next_index).toBe(written)
    expect(await pen.commit(createOf(decisionOf(20)))).toEqual({ written: 1, conflict: null })
  })

  it('names every call that was made before, so that none of them is tried again', async () => {
    const call = (n: number): Draft => {
      const decision = decisionOf(n)
      return { change: createOf(decision), idempotency: idempotencyOf(decision.id, { key: `call-${n}` }) }
    }
    expect(await pen.commit(call(1), call(2), call(3))).toEqual({ written: 3, conflict: null })
    const again = [call(4), call(1), call(5), call(2), { change: createOf(decisionOf(6)) }, call(3), call(4)]
    const { written, conflict, repeated } = await pen.commit(...again)
    expect({ written, conflict }).toEqual({ written: 1, conflict: 'idempotency_key' })
    expect(repeated).toEqual(new Set([3, 5, 6]))
  })

  it('moves an account by what is written of it, and not twice', async () => {
    const other = createOf(decisionOf(2, { postings: [heldIn(ACCOUNT, 7n)] }))
    expect(await pen.commit(createOf(HELD), SPENT, SPENT, other)).toMatchObject({ written: 2 })
    expect(await balance()).toMatchObject({ spent: '5', reserved: '0' })
    await pen.commit(other)
    expect(await balance()).toMatchObject({ spent: '5', reserved: '7' })
  })

  it('knows an agent from its first decision, and saw it from the earliest to the latest that is written', async () => {
    const agent = agentOf('agent:new', { known_at: instant(99) })
    const seen = [5, 3, 9, 7].map((n) => createOf(decisionOf(n, { agent_id: agent.id })))
    const refused = [createOf(decisionOf(5)), createOf(decisionOf(1, { agent_id: agent.id }))]
    expect(await pen.commit(...seen, writeAgentOf(agent), ...refused)).toMatchObject({ written: 5 })
    expect(await store.agents.get(agent.id)).toStrictEqual({
      agent: { ...agent, known_at: instant(5) },
      lastSeen: { first_seen: instant(3), last_seen: instant(9) },
    })
    await pen.commit(createOf(decisionOf(8, { agent_id: agent.id })), createOf(decisionOf(2, { agent_id: agent.id })))
    expect((await store.agents.get(agent.id))?.lastSeen).toEqual({ first_seen: instant(2), last_seen: instant(9) })
  })
})
