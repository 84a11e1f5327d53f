import type { MessagePort } from 'node:worker_threads'
import type { StoredAccount, StoredDecision } from '../../ports/store/documents.js'
import type { HeldReader } from '../../ports/store/feed.js'
import type { MoveNote } from '../../ports/store/move.js'
import type { CommitResult } from '../../ports/store/store.js'

/** The data that the thread starts with. */
export interface WriterData {
  readonly databasePath: string
  /** The descriptor of the open -shm file. */
  readonly indexDescriptor: number
  /** `TaskGate.numbers` */
  readonly gate: Int32Array<SharedArrayBuffer>
}

/** Includes the accounts that the group changed, in their new state. */
export interface Committed extends CommitResult {
  readonly accounts: readonly StoredAccount[]
}

export interface WriterTasks {
  /** @param group as `groupText` builds it, because a text is cheaper to pass on than objects */
  commit(group: string): Committed
  openLog(): { readonly log: string; readonly next_index: number }
  leaveLog(): void
  saveKeyUses(uses: ReadonlyMap<string, string>): void
  purgeIdempotency(now: string): number
  removeDecisions(decisions: readonly Pick<StoredDecision, 'id' | 'version'>[], now: string): number
  takeReader(name: string): HeldReader
  /** @param batch the JSON text of a `FeedBatch` */
  saveBatch(batch: string): boolean
  removeReader(name: string): void
  /** @param deliveries as JSON text */
  addDeliveries(deliveries: string): void
  /** @param deliveries as JSON text */
  updateDeliveries(deliveries: string): readonly string[]
  removeDeliveries(webhookId: string, before: string | null): number
  removeCounts(series: string, beforeMs: number): number
  /** Does several tasks of the feed in one transaction, which waits for the disk once. */
  together(tasks: readonly (readonly [task: FeedTask, ...parameters: unknown[]])[]): readonly unknown[]
  makeSecret(name: string): string
  writeMoveNote(note: MoveNote | null): void
  /** Returns the page to continue with; null when all pages are wiped. */
  wipePages(from: number): number | null
  /** Returns false while a connection reads from the log. */
  emptyLog(): boolean
  noteWiped(erased: number): void
  touch(): void
  /**
   * Returns a number that changes when another connection has written to the database. The store's other connections
   * only read, so that is another program.
   */
  dataVersion(): number
  proveRoom(): void
  /** The last task: the thread ends. */
  close(): unknown
}

/** Lets the writer's thread do a task; rejects with StoreUnavailableError. */
export type Ask<Task extends keyof WriterTasks> = <Name extends Task>(
  task: Name,
  ...parameters: Parameters<WriterTasks[Name]>
) => Promise<ReturnType<WriterTasks[Name]>>

/** The tasks for the feed. Their parameters are texts and numbers, which are cheap to pass on. */
export type FeedTask =
  | 'takeReader'
  | 'saveBatch'
  | 'removeReader'
  | 'addDeliveries'
  | 'updateDeliveries'
  | 'removeDeliveries'
  | 'removeCounts'

/** Lets another thread call through this port, and receive its answers there. */
export interface WriterConnection {
  readonly connect: MessagePort
}

/** Tasks are done in the order of the requests. */
export interface WriterRequest {
  readonly number: number
  readonly task: keyof WriterTasks
  readonly parameters: readonly unknown[]
}

export type WriterAnswer =
  | { readonly number: number; readonly result: unknown }
  /**
   * For tasks of the feed that failed through their own fault and not the disk's, and for wiping: the thread continues,
   * so that neither stops a decision.
   */
  | { readonly number: number; readonly undone: string }
  /** After a failure the thread ends, and another one starts from what is on the disk. */
  | { readonly number: number; readonly failure: { readonly message: string; readonly code: string | undefined } }
  /** Not about a task: a background task of the thread failed. The thread continues. */
  | { readonly trouble: string }
