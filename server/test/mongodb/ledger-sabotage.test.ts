import { describe, expect, it } from 'vitest'
import { SABOTAGES } from '../../../packages/store-mongodb/test/sabotages.js'
import { BrokenPromiseError, runLedger } from './ledger-run.js'

/** By far more than any of them has needed. */
const RUNS = 300

describe('the model test of the ledger on MongoDB', () => {
  it.each(Object.entries(SABOTAGES))('finds a store that %s', { timeout: 600_000 }, async (_, sabotage) => {
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const database = `countersign-sabotage-${process.pid}-${seed}`
      const failure = await runLedger({ seed, database, sabotage, isFaulty: false, tasks: 120 }).catch(
        (error: unknown) => error,
      )
      if (failure instanceof BrokenPromiseError) return console.log(`found in run ${seed}: ${failure.message}`)
      if (failure instanceof Error) throw failure
    }
    expect.unreachable(`${RUNS} runs found nothing.`)
  })
})
