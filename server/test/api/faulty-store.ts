import type { CommitResult, Mutation, Store } from '#server/ports/store/store'
import { openTestStore } from '../open-test-store.js'
import type { CallOf } from '../store-suite/index.js'
import { withCalls } from '../with-calls.js'

export type Commit = (records: readonly Mutation[]) => Promise<CommitResult>

/** The real store with faults that the test switches on and off. */
export class FaultyStore {
  /** What a commit does instead; null for what it should. */
  commit: ((records: readonly Mutation[], commit: Commit) => Promise<CommitResult>) | null = null
  /** What other calls reject with. */
  readonly faults = new Map<CallOf<Store>, Error>()

  readonly open = async (dataDir: string): Promise<Store> => {
    const real = await openTestStore(dataDir)
    return withCalls(real, (name, perform, parameters) => {
      const fault = this.faults.get(name as CallOf<Store>)
      if (fault !== undefined) return Promise.reject(fault)
      const { commit } = this
      if (name !== 'commit' || commit === null) return perform()
      return commit(parameters[0] as readonly Mutation[], (records) => real.commit(records))
    })
  }
}
