import type { CommitResult, Mutation, Store } from '@countersign/store-port/store'
import { openTestStore } from '../open-test-store.js'

export type Commit = (records: readonly Mutation[]) => Promise<CommitResult>

/** The real store with faults that the test switches on and off. */
export class FaultyStore {
  /** What a commit does instead; null for what it should. */
  commit: ((records: readonly Mutation[], commit: Commit) => Promise<CommitResult>) | null = null
  /** What calls of other members reject with. */
  readonly faults = new Map<keyof Store, Error>()

  readonly open = async (dataDir: string): Promise<Store> => {
    const real = await openTestStore(dataDir)
    return new Proxy(real, {
      get: (store, name: keyof Store) => {
        const fault = this.faults.get(name)
        if (fault !== undefined) return () => Promise.reject(fault)
        const { commit } = this
        if (name === 'commit' && commit !== null)
          return (records: readonly Mutation[]) => commit(records, real.commit.bind(real))
        const member: unknown = store[name]
        return typeof member === 'function' ? member.bind(store) : member
      },
    })
  }
}
