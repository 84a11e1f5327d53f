/** What the statistics have to be: recounted from all entries, without any aggregate. */
import type { AuditEntry, Stats, StatsGroup, StatsInterval } from '@countersign/contract'
import { expect } from 'vitest'

const LENGTH_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }

// biome-ignore lint/suspicious/noExplicitAny: entries are whatever was written; what is read of it is compared
type AnyJson = any

export interface NaiveQuery {
  readonly from: string
  readonly to: string
  readonly interval: StatsInterval
  readonly group: StatsGroup | null
  /** Only of these agents. */
  readonly agents?: readonly string[]
}

interface Created {
  readonly startsAt: string
  readonly value: string | null
  readonly entry: AuditEntry
}

/** Compares an answer with the entries, which are in the order in which they were counted. */
export function expectCounted(found: Stats, entries: readonly AuditEntry[], query: NaiveQuery): void {
  const { interval, group, agents } = query
  const lengthMs = LENGTH_MS[interval]
  const floor = (time: string) => Math.floor(Date.parse(time) / lengthMs) * lengthMs
  const [fromMs, toMs] = [floor(query.from), floor(new Date(Date.parse(query.to) + lengthMs - 1).toISOString())]
  const inSpan = entries.filter(({ at }) => Date.parse(at) >= fromMs && Date.parse(at) < toMs)
  const created = inSpan
    .filter(({ type, agent_id }) => type === 'decision.created' && (agents?.includes(agent_id as string) ?? true))
    .map((entry): Created => {
      return { startsAt: new Date(floor(entry.at)).toISOString(), value: valueIn(entry, group), entry }
    })
  expect([found.from, found.to]).toEqual([fromMs, toMs].map((ms) => new Date(ms).toISOString()))
  expectSame(found.total, created)
  const rows = new Map<string, Created[]>()
  for (const one of created) {
    const key = JSON.stringify([one.startsAt, one.value])
    rows.set(key, [...(rows.get(key) ?? []), one])
  }
  expect(found.data.map(({ starts_at, value }) => JSON.stringify([starts_at, value])).sort()).toEqual(
    [...rows.keys()].sort(),
  )
  expect(found.data.map(({ starts_at }) => starts_at)).toEqual(found.data.map(({ starts_at }) => starts_at).sort())
  for (const row of found.data) expectSame(row, rows.get(JSON.stringify([row.starts_at, row.value])) ?? [])
  if (agents === undefined) expect(found.budgets).toEqual(moneyOf(inSpan))
}

function valueIn({ agent_id, data }: AuditEntry, group: StatsGroup | null): string | null {
  const { effect, action = null, policy_id } = data as AnyJson
  return group === null ? null : { effect, action, policy: policy_id, agent: agent_id }[group]
}

function expectSame({ decisions, effects, latency_ms }: Stats['total'], created: readonly Created[]): void {
  const all = created.map(({ entry }) => entry.data as AnyJson)
  expect(decisions).toBe(all.length)
  for (const [effect, count] of Object.entries(effects))
    expect(count).toBe(all.filter((data) => data.effect === effect).length)
  const latencies = all.flatMap(({ latency_ms }) => latency_ms ?? []).sort((one: number, other: number) => one - other)
  if (latencies.length === 0) {
    expect(latency_ms).toBeNull()
    return
  }
  expect(latency_ms?.max).toBe(latencies.at(-1))
  for (const percent of [50, 90, 99] as const) {
    const exact = latencies[Math.ceil((latencies.length * percent) / 100) - 1] as number
    expect(latency_ms?.[`p${percent}`]).toBeGreaterThanOrEqual(exact)
    expect(latency_ms?.[`p${percent}`]).toBeLessThanOrEqual(exact * 1.05)
  }
}

/** In whole millionths: no sum of doubles. */
function moneyOf(entries: readonly AuditEntry[]) {
  const sums = new Map<string, Record<'decided' | 'settled' | 'released', number>>()
  const add = (row: AnyJson, member: 'decided' | 'settled' | 'released', micro: number) => {
    const key = JSON.stringify([row.policy_id, row.unit])
    const sum = sums.get(key) ?? { decided: 0, settled: 0, released: 0 }
    sums.set(key, { ...sum, [member]: sum[member] + micro })
  }
  const micro = (amount: number) => Math.round(amount * 1e6)
  for (const { type, data } of entries as AnyJson[]) {
    if (type === 'decision.created' || type === 'decision.approved')
      for (const row of data.budgets ?? []) if (row.reserved) add(row, 'decided', micro(row.amount))
    for (const row of data.committed ?? []) {
      add(row, 'settled', micro(row.amount) - micro(row.was))
      add(row, 'released', Math.max(0, micro(row.reserved) - micro(row.amount)))
    }
  }
  return [...sums]
    .sort(([one], [other]) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1))
    .map(([key, { decided, settled, released }]) => {
      const [policy_id, unit] = JSON.parse(key)
      return { policy_id, unit, decided: decided / 1e6, settled: settled / 1e6, released: released / 1e6 }
    })
}
