import { expect } from 'vitest'
import type { StoredAgent } from '#server/ports/store/documents'
import type { Store } from '#server/ports/store/store'
import { agentOf, createOf, decisionOf, instant, LogPen, writeAgentOf } from './documents.js'
import { type StoreCase, WHOLE, walk } from './store-case.js'

function suspended(id: string): StoredAgent {
  return agentOf(id, { registration: null, last_revision: 0, suspended: { at: instant(5), by: 'key_1', reason: null } })
}

async function listedIds(store: Store, patterns: readonly string[] | null, limit = 2): Promise<readonly string[]> {
  return (await walk(limit, (page) => store.agents.list(patterns, page))).map(({ agent }) => agent.id)
}

export const AGENT_CASES: readonly StoreCase[] = [
  {
    title: 'knows no agent in an empty store',
    async run({ store }) {
      expect(await store.agents.load()).toEqual([])
      expect(await store.agents.get('agent:none')).toBeNull()
      expect(await store.agents.getMetadata('agent:none', 1)).toBeNull()
      expect(await store.agents.list(null, WHOLE)).toEqual({ items: [], next: null })
    },
  },
  {
    title: 'gives back an agent as it was last written',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const agent = agentOf('agent:1', {
        registration: {
          revision: 1,
          name: 'One',
          description: null,
          metadata: { $where: [1e-7, null, { a: '☃' }] },
          created_at: instant(1),
        },
      })
      const later = { ...agent, version: 2, suspended: { at: instant(9), by: 'key_1', reason: 'loops' } }
      await pen.commit(writeAgentOf(agent))
      expect((await store.agents.get('agent:1'))?.agent).toStrictEqual(agent)
      await pen.commit(writeAgentOf(later))
      const reopened = await reopen()
      expect((await reopened.agents.get('agent:1'))?.agent).toStrictEqual(later)
      expect(await reopened.agents.load()).toStrictEqual([later])
    },
  },
  {
    title: 'marks the first and the last time that an agent asked, whatever the order of writing',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const lastSeen = async (from: Store) => (await from.agents.get('agent:1'))?.lastSeen
      await pen.commit(writeAgentOf(agentOf('agent:1')))
      expect(await lastSeen(store)).toEqual({ first_seen: null, last_seen: null })
      for (const number of [5, 9, 3, 7]) await pen.commit(createOf(decisionOf(number, { agent_id: 'agent:1' })))
      expect(await lastSeen(await reopen())).toEqual({ first_seen: instant(3), last_seen: instant(9) })
    },
  },
  {
    title: 'knows an agent that only asked, at version 0, until it is written',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      await pen.commit(createOf(decisionOf(3, { agent_id: 'agent:1' })))
      const unwritten = {
        id: 'agent:1',
        version: 0,
        registration: null,
        last_revision: 0,
        suspended: null,
        known_at: instant(3),
      }
      expect((await store.agents.get('agent:1'))?.agent).toStrictEqual(unwritten)
      expect(await store.agents.load()).toEqual([])
      expect(await pen.commit(writeAgentOf(agentOf('agent:1', { known_at: instant(99) })))).toEqual({
        written: 1,
        conflict: null,
      })
      const agent = (await (await reopen()).agents.get('agent:1'))?.agent
      expect(agent).toStrictEqual(agentOf('agent:1', { known_at: instant(3) }))
    },
  },
  {
    title: 'loads the agents that are registered or suspended, and no other',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const [registered, deleted] = [agentOf('agent:registered'), agentOf('agent:deleted')]
      await pen.commit(
        createOf(decisionOf(1, { agent_id: 'agent:seen' })),
        writeAgentOf(registered),
        writeAgentOf(suspended('agent:suspended')),
        writeAgentOf(deleted),
        writeAgentOf({ ...deleted, version: 2, registration: null }),
      )
      const ids = (await store.agents.load()).map(({ id }) => id).sort()
      expect(ids).toEqual(['agent:registered', 'agent:suspended'])
    },
  },
  {
    title: 'lists the agents that were ever written by their ids, also while they change',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const written = ['agent:0', 'agent:1', 'agent:2', 'agent:3'].map((id) => suspended(id))
      await pen.commit(
        createOf(decisionOf(1, { agent_id: 'agent:seen' })),
        ...written.map((agent) => writeAgentOf(agent)),
      )
      let version = 1
      const found = await walk(1, async (page) => {
        version += 1
        const suspension = version % 2 === 0 ? null : written[0]?.suspended
        await pen.commit(...written.map((agent) => writeAgentOf({ ...agent, version, suspended: suspension ?? null })))
        return store.agents.listWritten(page)
      })
      expect(found.map(({ id }) => id)).toEqual(written.map(({ id }) => id))
      expect((await store.agents.load()).length).toBe(version % 2 === 0 ? 0 : 4)
    },
  },
  {
    title: 'lists the agents that are registered, suspended or seen, but finds a deleted one too',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const deleted = agentOf('agent:deleted', { known_at: instant(9) })
      await pen.commit(
        createOf(decisionOf(1, { agent_id: 'agent:seen' })),
        writeAgentOf(suspended('agent:suspended')),
        writeAgentOf(deleted),
        writeAgentOf({ ...deleted, version: 2, registration: null }),
      )
      expect(await listedIds(store, null)).toEqual(['agent:seen', 'agent:suspended'])
      expect((await store.agents.get('agent:deleted'))?.agent).toMatchObject({ version: 2, last_revision: 1 })
    },
  },
  {
    title: 'lists agents newest first, page by page, also while others appear',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const ids = [...Array(9).keys()].map((number) => `agent:${number}`)
      await pen.commit(...ids.map((agent_id, number) => createOf(decisionOf(number, { agent_id }))))
      for (const limit of [1, 2, 9, 200]) expect(await listedIds(store, null, limit)).toEqual(ids.toReversed())
      let number = 100
      const seen = await walk(2, async (page) => {
        const result = await store.agents.list(null, page)
        number += 1
        await pen.commit(createOf(decisionOf(number, { agent_id: `agent:${number}` })))
        await pen.commit(createOf(decisionOf(number + 500, { agent_id: 'agent:3' })))
        return result
      })
      expect(seen.map(({ agent }) => agent.id)).toEqual(ids.toReversed())
    },
  },
  {
    title: 'pages through agents of one instant, whatever characters their ids have',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const ids = ['a', 'a+b', 'a/b', 'a/b/c', 'a/c', 'b/', 'b//a']
      await pen.commit(
        ...ids.map((agent_id, number) => createOf(decisionOf(number, { agent_id, evaluated_at: instant(0) }))),
      )
      for (const limit of [1, 2, 3, 200]) expect(await listedIds(store, null, limit)).toEqual(ids.toReversed())
    },
  },
  {
    title: 'keeps to the agents of a bound key',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const ids = [...Array(700).keys()].map((number) => (number % 100 === 7 ? `rare:${number}` : `agent:${number}`))
      await pen.commit(...ids.map((agent_id, number) => createOf(decisionOf(number, { agent_id }))))
      const rare = ids.filter((id) => id.startsWith('rare')).reverse()
      for (const limit of [1, 3, 7, 200]) expect(await listedIds(store, ['rare:*', 'none'], limit)).toEqual(rare)
      expect(await listedIds(store, ['rare:7', 'rare:107'])).toEqual(['rare:107', 'rare:7'])
      expect(await listedIds(store, [])).toEqual([])
    },
  },
  {
    title: 'keeps the metadata of every revision of a registration',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const registration = (revision: number) => ({
        revision,
        name: `n${revision}`,
        description: null,
        metadata: { revision },
        created_at: instant(revision),
      })
      const first = agentOf('agent:1', { registration: registration(1) })
      const second = { ...first, version: 2, registration: registration(2), last_revision: 2 }
      const halted = { ...second, version: 3, suspended: { at: instant(5), by: 'key_1', reason: null } }
      const resumed = { ...halted, version: 4, suspended: null }
      const deleted = { ...resumed, version: 5, registration: null }
      const third = { ...deleted, version: 6, registration: registration(3), last_revision: 3 }
      await pen.commit(...[first, second, halted, resumed, deleted, third].map((agent) => writeAgentOf(agent)))
      const reopened = await reopen()
      for (const revision of [1, 2, 3]) {
        expect(await reopened.agents.getMetadata('agent:1', revision)).toStrictEqual(registration(revision))
      }
      expect(await reopened.agents.getMetadata('agent:1', 4)).toBeNull()
      expect(await reopened.agents.getMetadata('agent:2', 1)).toBeNull()
    },
  },
]
