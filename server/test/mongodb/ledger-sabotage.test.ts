import { describe, expect, it } from 'vitest'
import { SABOTAGES } from '../stores/mongodb/sabotages.js'
import { BrokenPromiseError, runLedger } from './ledger-run.js'

/** By far more than any of them has needed. */
const RUNS = 300

/** Shown by few runs: a minute or two are for `STRESS=full`. */
const RARE: readonly string[] = ['reads a decision before the account', 'moves a decision whatever has become of it']
const isFull = process.env.STRESS === 'full'
const CHOSEN = Object.entries(SABOTAGES).filter(([what]) => isFull || !RARE.includes(what))

describe('the model test of the ledger on MongoDB', () => {
  it('knows the sabotages that few runs show', () => {
    expect(Object.keys(SABOTAGES)).toEqual(expect.arrayContaining([...RARE]))
  })

  it.each(CHOSEN)('finds a store that %s', { timeout: 600_000 }, async (_, sabotage) => {
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
