import type { MessagePort } from 'node:worker_threads'
import type { StoredAccount, StoredDecision } from '@countersign/store-port/documents'
import type { HeldReader } from '@countersign/store-port/feed'
import type { CommitResult } from '@countersign/store-port/store'

/** What the thread starts with. */
export interface WriterData {
  readonly databasePath: string
  /** Of the open -shm file. */
  readonly indexDescriptor: number
}

/** With the accounts that the group changed, as they are now. */
export interface Committed extends CommitResult {
  readonly accounts: readonly StoredAccount[]
}

/** What the writer's thread does. */
export interface WriterTasks {
  /** @param group as `groupText` makes it: cheaper to pass on than objects */
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
  /** @param deliveries the JSON text of them */
  addDeliveries(deliveries: string): void
  /** @param deliveries the JSON text of them */
  updateDeliveries(deliveries: string): readonly string[]
  removeDeliveries(webhookId: string, before: string | null): number
  removeCounts(series: string, beforeMs: number): number
  /** Several tasks of the feed in one transaction: one wait for the disk. */
  together(tasks: readonly (readonly [task: FeedTask, ...parameters: unknown[]])[]): readonly unknown[]
  makeSecret(name: string): string
  /** The page to go on with; null when all pages are wiped. */
  wipePages(from: number): number | null
  /** False while somebody reads from the log. */
  emptyLog(): boolean
  noteWiped(erased: number): void
  touch(): void
  proveRoom(): void
  /** The last one: the thread ends. */
  close(): unknown
}

/** What of the tasks is for the feed. Their parameters are texts and numbers: cheap to pass on. */
export type FeedTask =
  | 'takeReader'
  | 'saveBatch'
  | 'removeReader'
  | 'addDeliveries'
  | 'updateDeliveries'
  | 'removeDeliveries'
  | 'removeCounts'

/** Another thread asks through this port, and gets its answers there. */
export interface WriterConnection {
  readonly connect: MessagePort
}

/** Tasks are done in the order in which they are asked. */
export interface WriterRequest {
  readonly number: number
  readonly task: keyof WriterTasks
  readonly parameters: readonly unknown[]
}

export type WriterAnswer =
  | { readonly number: number; readonly result: unknown }
  /** Of the feed's tasks when they and not the disk were at fault, and of wiping: the thread goes on, so that neither stops a decision. */
  | { readonly number: number; readonly undone: string }
  /** After a failure the thread ends, and another one starts from what is on the disk. */
  | { readonly number: number; readonly failure: { readonly message: string; readonly code: string | undefined } }
  /** Not about a task: the thread failed in what it does by itself. It goes on. */
  | { readonly trouble: string }
