import { configureGlobal } from 'fast-check'

/** Runs before each test file of `npm run torture`: every property draws from the printed seed, and ten times as often. */
configureGlobal({ seed: Number(process.env.SEED), numRuns: 1_000 })
