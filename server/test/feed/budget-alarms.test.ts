import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { BudgetAlarms } from '#server/feed/budget-alarms'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { LogPen } from '../store-suite/index.js'

it('does a share of a long log in a turn, and goes on in the next one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'budget-alarms-'))
  const store = await openSqliteStore({ dataDir })
  const pen = await LogPen.of(store)
  for (let i = 0; i < 12; i += 1)
    await pen.commit(...Array.from({ length: 100 }, () => ({ change: { kind: 'entry.only' } as const })))
  const [{ next_index: end } = { next_index: 0 }] = await store.audit.listLogs()
  let nowMs = 0
  // Each look at the clock is a second later: a turn is over after two.
  const monotonicMs = () => (nowMs += 1000)
  const clock = { now: () => new Date(nowMs) }
  const alarms = new BudgetAlarms({ store: store, holder: 'holder', monotonicMs, clock, raise: async () => {} })
  const read = async () => (await store.readers.get('budget_alarms'))?.positions?.[pen.log]
  await alarms.turn()
  expect(await read()).toBeLessThan(end)
  for (let turns = 0; turns < 5 && (await read()) !== end; turns += 1) await alarms.turn()
  expect(await read()).toBe(end)
  await store.close()
  rmSync(dataDir, { recursive: true })
})
