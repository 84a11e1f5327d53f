/** Audit logs of several writers, as a store has them, and their export by a server. */
import type { Jwks } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { systemClock } from '#server/adapters/system-clock'
import { typeidIds } from '#server/adapters/typeid-ids'
import { MutationWriter } from '#server/mutation-writer'
import { ON_MONGODB, openTestStore } from './open-test-store.js'
import type { RunningServer } from './running-server.js'

const DEADLINE_MS = 60_000
/** So many wait for the writer at a time. Those of a batch are written one by one on MongoDB. */
const BATCH = ON_MONGODB ? 50 : 1_000

/** Writes entries, each writer into a log of its own. */
export async function writeLogs(dataDir: string, writers: number, entries: number): Promise<void> {
  for (let writer = 0; writer < writers; writer += 1) {
    const store = await openTestStore(dataDir)
    await store.leaveLogs()
    const share = Math.floor((entries * (writer + 1)) / writers) - Math.floor((entries * writer) / writers)
    await write(new MutationWriter(store, typeidIds(systemClock()), DEADLINE_MS), share)
    await store.close()
  }
}

async function write(writer: MutationWriter, entries: number): Promise<void> {
  for (let from = 0; from < entries; from += BATCH) {
    const size = Math.min(BATCH, entries - from)
    await Promise.all(Array.from({ length: size }, (_, i) => writer.write(draftOf(from + i))))
  }
}

function draftOf(i: number) {
  const entry = {
    at: new Date().toISOString(),
    type: 'budget.threshold',
    actor: null,
    subject: `pol_${i}`,
    agent_id: i % 2 === 0 ? 'agent:søren' : null,
    data: { threshold: 50, spent: i / 8, text: 'a "quoted" text\n', nested: { list: [i, null, true] } },
  } as const
  return { entry, change: () => ({ kind: 'entry.only' }) as const, idempotency: null }
}

/** Once the trees have caught up with so many entries. */
export function exportWith(server: RunningServer, entries: number): Promise<string> {
  return until(`an export of ${entries} entries`, async () => {
    const { status, body } = await server.call('GET', '/v1/audit/export')
    const lines = status === 200 ? (body as string).split('\n') : []
    return lines.filter((line) => line.startsWith('{"actor"')).length >= entries ? body : undefined
  })
}

export async function keySetOf(server: RunningServer): Promise<Jwks> {
  return (await server.call('GET', '/.well-known/jwks.json', { key: null })).body
}
