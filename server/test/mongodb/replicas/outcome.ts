import { leafHash } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { expect } from 'vitest'
import { openMongoStore } from '#server/stores/mongodb/open'
import { listAll } from '../../process/call.js'
import { CHOSEN_KEY, type ShippedServer } from '../../process/shipped-server.js'
import type { MongoStore } from '../../stores/mongodb/inside.js'
import { LOAD_AGENT, type ReplicaLoad } from './replica-load.js'
import { settledAccounts } from './replicas.js'

/** What a process that was taken for dead needs until it goes on, and more. */
const TAKEN_FOR_DEAD_MS = 60_000
/** More than a call takes on a busy machine, of those that are sent side by side. */
const CALL_MS = 50

const TYPES = { decisions: 'decision.created', confirm: 'decision.confirmed', reject: 'decision.rejected' }

/**
 * Holds what the callers of a load were told against what the store holds once dead processes' work is finished: nothing
 * acknowledged is missing or there twice, what was not answered can be asked again, budgets are the sum over decisions, and
 * each log is whole.
 *
 * @returns what there was, to be printed
 */
export async function expectWholeOutcome(url: string, server: ShippedServer, load: ReplicaLoad): Promise<string> {
  await settledAccounts(url)
  const unanswered = load.unknown.length
  const isAnswered = async () => {
    await load.askAgain()
    return load.unknown.length === 0 ? true : undefined
  }
  await until('an answer to all that had none', isAnswered, TAKEN_FOR_DEAD_MS + unanswered * CALL_MS)
  const { stored, recomputed } = await settledAccounts(url)
  expect(stored).toEqual(recomputed)

  // The servers have lost their logs to the one that finished them, and take others.
  const all = (path: string) => until(path, () => listAll(server.url, path, CHOSEN_KEY).catch(() => undefined))
  const decisions = await all(`/v1/decisions?agent_id=${LOAD_AGENT}`)
  const found = new Map(decisions.map((decision) => [decision.context.marker, decision]))
  expect(found.size).toBe(decisions.length)
  for (const [marker, { id, status }] of load.acknowledged) expect(found.get(marker)).toMatchObject({ id, status })
  expect(found.size).toBe(load.acknowledged.size)
  const entries: AuditEntry[] = await all('/v1/audit')
  const logs = await expectWholeLogs(url, entries)
  expectOneEntryEach(entries, load)
  const voids = entries.filter(({ type }) => type === 'void').length
  return (
    `${decisions.length} decisions, ${unanswered} calls unanswered; ${entries.length} entries in ${logs} logs, ` +
    `${voids} of them void; ${JSON.stringify(stored)}`
  )
}

/** Each log goes from 0 on without a gap, each entry is what its leaf says, and a process that goes on does so behind the last. */
async function expectWholeLogs(url: string, entries: readonly AuditEntry[]): Promise<number> {
  const logs = new Map<string, number[]>()
  for (const entry of entries) {
    expect(leafHash(entry)).toBe(entry.leaf)
    logs.set(entry.log, [...(logs.get(entry.log) ?? []), entry.index])
  }
  for (const indexes of logs.values()) expect(indexes.sort((one, other) => one - other)).toEqual([...indexes.keys()])
  const left = new Set(logs.keys())
  const takers: MongoStore[] = []
  try {
    while (left.size > 0 && takers.length < 2 * logs.size) {
      const taker = await openMongoStore({ url, nowMs: () => Date.now() + 120_000 })
      takers.push(taker)
      const { log, next_index } = await taker.openLog()
      expect(next_index).toBe(logs.get(log)?.length ?? 0)
      left.delete(log)
    }
    expect(left).toEqual(new Set())
  } finally {
    await Promise.all(takers.map((taker) => taker.close()))
  }
  return logs.size
}

/** Each acknowledged record has one entry, and no other has one. */
function expectOneEntryEach(entries: readonly AuditEntry[], load: ReplicaLoad): void {
  const ofDecisions = entries.filter(({ type, agent_id }) => type.startsWith('decision.') && agent_id === LOAD_AGENT)
  const acknowledged = load.seen.flatMap(({ path, answer }) => {
    const type = TYPES[path.split('/').at(-1) as keyof typeof TYPES]
    return answer?.status === 200 ? [`${type} ${answer.body.id}`] : []
  })
  expect(ofDecisions.map(({ type, subject }) => `${type} ${subject}`).sort()).toEqual([...new Set(acknowledged)].sort())
}
