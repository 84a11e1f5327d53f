import type { GuardedRun } from './guarded-run.js'

/** Knows which guarded action the present code runs in, over everything that it awaits. */
export interface RunContext {
  /** Does the work immediately, as a part of the run. */
  within<Result>(run: GuardedRun, work: () => Result): Result
  /** Of those that are around this code the innermost; undefined where there is none. */
  current(): GuardedRun | undefined
}

/** Of platforms that cannot follow what is awaited. */
export const NO_RUN_CONTEXT: RunContext = { within: (_run, work) => work(), current: () => undefined }
