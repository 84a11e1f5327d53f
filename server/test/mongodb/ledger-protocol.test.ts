import { stress } from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import { runLedger } from './ledger-run.js'

const FIRST = Number(process.env.SEED ?? 1)
const RUNS = Number(process.env.RUNS ?? stress.ledger_protocol_faulty_runs)
const QUIET_RUNS = Number(process.env.RUNS ?? stress.ledger_protocol_runs)

describe('the ledger on MongoDB', () => {
  it('adds up however processes overtake one another and take one another for dead', { timeout: 600_000 }, async () => {
    for (let seed = FIRST; seed < FIRST + QUIET_RUNS; seed += 1) {
      const database = `countersign-ledger-${process.pid}-${seed}`
      const { acknowledged } = await runLedger({ seed, database, isFaulty: false, tasks: 120 })
      expect(acknowledged).toBeGreaterThan(0)
    }
  })

  it('adds up whatever is cut and whichever process dies', { timeout: 600_000 }, async () => {
    const counts = new Map<string, number>()
    let acknowledged = 0
    let killed = 0
    for (let seed = FIRST; seed < FIRST + RUNS; seed += 1) {
      const report = await runLedger({ seed, database: `countersign-ledger-${process.pid}-${seed}` })
      acknowledged += report.acknowledged
      killed += report.killed
      for (const [what, count] of report.counts) counts.set(what, (counts.get(what) ?? 0) + count)
    }
    console.log(`${RUNS} runs, ${acknowledged} decisions acknowledged, ${killed} stores killed`)
    for (const [what, count] of [...counts].sort()) if (!what.startsWith('delayed')) console.log(`  ${what}: ${count}`)
    expect(acknowledged).toBeGreaterThan(RUNS)
  })
})
