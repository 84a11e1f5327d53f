import { AsyncLocalStorage } from 'node:async_hooks'
import type { GuardedRun } from './enforcement/guarded-run.js'
import type { RunContext } from './enforcement/run-context.js'

/** One for all clients: between two guards of one client there may be one of another. */
const runs = new AsyncLocalStorage<GuardedRun>()

export const nodeRunContext: RunContext = {
  within: (run, work) => runs.run(run, work),
  current: () => runs.getStore(),
}
