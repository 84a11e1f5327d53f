import type { StoredCheckpoint } from './store/feed.js'

/** A tree of an audit log at one of its sizes. */
export interface RememberedTree {
  readonly size: number
  /** In base64url. */
  readonly root: string
}

/** The root log has a name: another one after a restore, and after an accepted rewrite. */
export interface RememberedRoot extends RememberedTree {
  readonly name: string
}

export interface RememberedTrees {
  readonly root: RememberedRoot
  readonly logs: ReadonlyMap<string, RememberedTree>
}

/** Checkpoints that were about to be signed, and the root log with them. It is unknown whether the store has them. */
export interface UnsavedCheckpoints {
  readonly root: RememberedRoot
  /** Leaves of the root log, in order. */
  readonly checkpoints: readonly StoredCheckpoint[]
}

/** The names of the root logs that this server has signed or seen before, and no longer signs. */
interface GivenUp {
  readonly givenUp: readonly string[]
}

export type Remembered =
  /**
   * This server has signed and seen nothing yet. `isNew` false: it may have, with a release that remembered nothing.
   */
  | { readonly kind: 'nothing'; readonly isNew: boolean }
  /** The operator has restored the store from a backup, or accepted its loss: it may be older than what was signed. */
  | ({ readonly kind: 'restored' } & GivenUp)
  /** `why` is a sentence for the operator. */
  | { readonly kind: 'unreadable'; readonly why: string }
  | ({ readonly kind: 'trees'; readonly unsaved: UnsavedCheckpoints | null } & RememberedTrees & GivenUp)

/**
 * What a server keeps outside of the database: the newest checkpoints that it has signed or seen. Each change is durable when
 * its promise resolves. One process at a time writes it.
 */
export interface CheckpointMemory {
  read(): Promise<Remembered>
  /** Records the checkpoints that are about to be signed. */
  noteUnsaved(unsaved: UnsavedCheckpoints): Promise<void>
  /** Records that the store has the checkpoints that were unsaved. */
  noteSaved(): Promise<void>
  /**
   * Records trees that others have signed and that extend what is remembered; `logs` has only the new ones. Drops what
   * was unsaved.
   */
  noteSeen(trees: RememberedTrees): Promise<void>
  /** Drops everything except the names of the root logs. A root log of size 0 starts over. */
  replace(trees: RememberedTrees, unsaved?: UnsavedCheckpoints): Promise<void>
}
