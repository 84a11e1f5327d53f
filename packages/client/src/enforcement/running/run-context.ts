import { ofProcess } from '../../of-process.js'

/** Knows which run the current code is a part of, across everything that it awaits. */
export interface RunContext<Run> {
  /** Does the work immediately, as a part of the run. */
  run<Result>(run: Run, work: () => Result): Result
  /** The innermost run around this code; undefined if there is none. */
  getStore(): Run | undefined
}

/** For platforms that cannot follow what is awaited. */
export const NO_RUN_CONTEXT: RunContext<never> = { run: (_run, work) => work(), getStore: () => undefined }

/** One context of each name for all copies of the client, because a guard of another copy may stand between two guards. */
export function runContextOf<Run>(name: string): RunContext<Run> {
  return ofProcess(`${name}-runs.1`, () => {
    // A module for all platforms cannot import what only runtimes like Node have.
    type Hooks = { readonly AsyncLocalStorage: new () => RunContext<unknown> }
    const here = globalThis.process as unknown as { getBuiltinModule?(name: string): Hooks | undefined } | undefined
    const hooks = here?.getBuiltinModule?.('node:async_hooks')
    return hooks === undefined ? NO_RUN_CONTEXT : new hooks.AsyncLocalStorage()
  }) as RunContext<Run>
}
