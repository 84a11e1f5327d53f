/** Audit logs of several writers, as a store has them, and their export by a server. */
import type { Jwks } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { systemClock } from '#server/adapters/system-clock'
import { typeidIds } from '#server/adapters/typeid-ids'
import { MutationWriter } from '#server/mutation-writer'
import type { LogPosition } from '#server/ports/store/audit'
import { ON_MONGODB, openTestStore } from './open-test-store.js'
import type { RunningServer } from './running-server.js'

const DEADLINE_MS = 60_000
/** This many wait for the writer at a time. Those of a batch are written one by one on MongoDB. */
const BATCH = ON_MONGODB ? 50 : 1_000

/** Writes entries into a log of its own, which nobody writes any more. Gives its name. */
export async function writeLog(dataDir: string, entries: number): Promise<string> {
  const before = await logsIn(dataDir)
  await writeLogs(dataDir, 1, entries)
  return (await logsIn(dataDir)).find((log) => !before.includes(log)) as string
}

/** Writes entries as the next process on the store does, which on the embedded store goes on in its log. Gives the last one's position. */
export async function goOnInLog(dataDir: string, entries: number): Promise<LogPosition> {
  const store = await openTestStore(dataDir)
  await write(new MutationWriter(store, typeidIds(systemClock()), DEADLINE_MS), entries)
  const [last] = (await store.audit.list({ type: 'budget.threshold' }, { limit: 1, after: null })).items
  await store.close()
  const { log, index } = last as LogPosition
  return { log, index }
}

async function logsIn(dataDir: string): Promise<readonly string[]> {
  const store = await openTestStore(dataDir)
  const logs = await store.audit.listLogs()
  await store.close()
  return logs.map(({ log }) => log)
}

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
  return { entry, change: { kind: 'entry.only' } as const, idempotency: null }
}

/** Once the trees have caught up with this many entries, for which they may take a millisecond each. */
export async function exportWith(server: RunningServer, entries: number): Promise<string> {
  const find = async () => {
    const { status, body } = await server.call('GET', '/v1/audit/checkpoints')
    if (status !== 200) return undefined
    const sizes: number[] = body.data.map(({ size }: { readonly size: number }) => size)
    return sizes.reduce((sum, size) => sum + size, 0) >= entries || undefined
  }
  await until(`checkpoints over ${entries} entries`, find, 30_000 + entries)
  const { status, body } = await server.call('GET', '/v1/audit/export')
  if (status !== 200) throw new Error(`The export was answered with ${status}: ${JSON.stringify(body)}.`)
  return body
}

export async function keySetOf(server: RunningServer): Promise<Jwks> {
  return (await server.call('GET', '/.well-known/jwks.json', { key: null })).body
}
