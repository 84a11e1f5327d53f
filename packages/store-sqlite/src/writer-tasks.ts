import type { StoredAccount, StoredDecision } from '@countersign/store-port/documents'
import type { CommitResult } from '@countersign/store-port/store'

/** What the thread begins with. */
export interface WriterData {
  readonly databasePath: string
  /** Of the open -shm file. */
  readonly indexDescriptor: number
}

/** With the accounts that were moved, as they stand now. */
export interface Committed extends CommitResult {
  readonly accounts: readonly StoredAccount[]
}

/** What the writer's thread can be asked, and what it answers. */
export interface WriterTasks {
  /** The mutations as JSON text: cheaper to hand over than objects, and what is kept is JSON anyway. */
  commit: { argument: string; result: Committed }
  openLog: { argument: null; result: { readonly log: string; readonly next_index: number } }
  leaveLog: { argument: null; result: null }
  saveKeyUses: { argument: ReadonlyMap<string, string>; result: null }
  purgeIdempotency: { argument: string; result: number }
  removeDecisions: {
    argument: { readonly decisions: readonly Pick<StoredDecision, 'id' | 'version'>[]; readonly now: string }
    result: number
  }
  makeSecret: { argument: string; result: string }
  touch: { argument: null; result: null }
  proveRoom: { argument: null; result: null }
  /** The last one: the thread ends. */
  close: { argument: null; result: null }
}

export type WriterTaskName = keyof WriterTasks

/** Tasks are done in the order in which they are asked. */
export interface WriterRequest {
  readonly number: number
  readonly task: WriterTaskName
  readonly argument: unknown
}

export type WriterAnswer =
  | { readonly number: number; readonly result: unknown }
  /** Also the thread's last word: after a failure it ends, and another one starts from what is on the disk. */
  | { readonly number: number; readonly failure: { readonly message: string; readonly code: string | undefined } }
  /** Of no task: what the thread does by itself and could not. It goes on. */
  | { readonly trouble: string }
