/**
 * The one way into the store. Requests that wait together become durable together (group commit): what comes in one turn of
 * the event loop leaves as one group, unless it becomes large before. While it is on its way to the disk the next one gathers.
 * A mutation gets its position in the audit log only when its group leaves, so that the log has no gaps whatever fails.
 */
import { leafHash } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import type { AuditPosition, IdempotencyRecord } from '@countersign/store-port/documents'
import {
  type Change,
  type CommitResult,
  type Conflict,
  ConflictError,
  type LogPosition,
  type Mutation,
  type Store,
  StoreUnavailableError,
} from '@countersign/store-port/store'
import { DomainError } from './domain-error.js'
import type { Ids } from './ports/ids.js'

/** An audit entry before it has its position in the log. */
export type EntryDraft = Omit<AuditEntry, 'id' | 'log' | 'index' | 'leaf'>

export interface MutationDraft<Made extends Change = Change> {
  readonly entry: EntryDraft
  /** Made anew whenever the mutation gets a position in the log. */
  readonly change: (position: AuditPosition) => Made
  readonly idempotency: IdempotencyRecord | null
  /** As in {@link Mutation}. */
  readonly holds?: Mutation['holds']
}

export interface Written<Beside, Made extends Change> {
  readonly position: AuditPosition
  readonly change: Made
  /** What `beside` made. */
  readonly beside: Beside
  /** From the group's departure to its durability, in milliseconds. */
  readonly storeMs: number
}

interface Waiting {
  readonly job: Job
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  /** By the monotonic clock, in milliseconds. */
  readonly lateAt: number
}

/** Makes a mutation for its group, with the position in the log that it would get. */
type Job = (log: string, index: number) => SealedMutation

interface SealedMutation {
  readonly mutation: Mutation
  readonly beside: () => Promise<unknown>
  /** What the caller gets. */
  readonly result: (beside: unknown, storeMs: number) => unknown
}

interface Sealed extends SealedMutation {
  readonly waiting: Waiting
}

const MAX_GROUP = 256
/** With so many the store begins. The rest of the turn is the next group. */
const LARGE_GROUP = 16
/** More than this many waiting mutations mean that the store does not keep up: reject rather than grow. */
const MAX_WAITING = 20_000

export class MutationWriter {
  private readonly waiting: Waiting[] = []
  /** Whose caller has no answer yet, oldest first. A mutation that has not left when its caller is answered never leaves. */
  private readonly unanswered = new Set<Waiting>()
  private sweeper: NodeJS.Timeout | undefined
  private draining: Promise<void> | null = null
  /** Sends the first group before the event loop turns. Does nothing later. */
  private leaveNow: () => void = () => {}
  /** The way of the newest group to the disk. What had not left by its end, and was answered, never leaves. */
  private sending: Promise<void> = Promise.resolve()
  private log: { readonly log: string; next_index: number } | null = null
  private newestAt = ''
  private newest: LogPosition | null = null
  /** Called after entries have become durable. */
  onEntries: () => void = () => {}

  /**
   * @param deadlineMs how long a caller waits for durability before its call rejects
   * @param monotonicMs the clock of the deadlines
   */
  constructor(
    private readonly store: Pick<Store, 'openLog' | 'commit'>,
    private readonly ids: Pick<Ids, 'next'>,
    private readonly deadlineMs: number,
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {}

  /** The newest position in the audit log that this process has filled; null before the first. */
  get newestEntry(): LogPosition | null {
    return this.newest
  }

  /** How many mutations wait for the write in progress to end. */
  get waitingMutations(): number {
    return this.waiting.length
  }

  /**
   * Resolves once the mutation is durable and `beside` (work that only needs the position in the log, such as signing) is
   * done. `beside` runs while the mutation is on its way, and again if the mutation gets another position and so another
   * change.
   *
   * @throws ConflictError when a condition of the mutation does not hold.
   * @throws DomainError limit_reached when the store cannot hold what it would write; replica_stale when `holds` is false.
   * @throws StoreUnavailableError when the mutation is not known to be durable within the deadline. It may still become so.
   */
  write<Made extends Change, Beside = void>(
    draft: MutationDraft<Made>,
    beside: (position: AuditPosition, change: Made) => Promise<Beside> = () => Promise.resolve(undefined as Beside),
  ): Promise<Written<Beside, Made>> {
    return this.enqueue((log, index) => {
      // Whoever looked at the clock first may come second: within a log time never decreases.
      if (draft.entry.at > this.newestAt) this.newestAt = draft.entry.at
      const unhashed = { id: this.ids.next('aud'), log, index, ...draft.entry, at: this.newestAt }
      const leaf = leafHash(unhashed)
      const position = { log, index, leaf }
      const change = draft.change(position)
      return {
        mutation: { change, entry: { ...unhashed, leaf }, idempotency: draft.idempotency, holds: draft.holds },
        beside: () => beside(position, change),
        result: (made, storeMs): Written<Beside, Made> => ({ position, change, beside: made as Beside, storeMs }),
      }
    })
  }

  /**
   * Resolves once the idempotency record is durable of a call that changed nothing. Such a call has no entry in the log.
   *
   * @throws as {@link write}
   */
  writeCall(idempotency: IdempotencyRecord): Promise<void> {
    return this.enqueue(() => ({
      mutation: { change: { kind: 'call.only' }, entry: null, idempotency },
      beside: () => Promise.resolve(),
      result: () => undefined,
    }))
  }

  private enqueue<Result>(job: Job): Promise<Result> {
    if (this.waiting.length >= MAX_WAITING)
      return Promise.reject(new StoreUnavailableError('Too many mutations wait for the store.'))
    return new Promise((resolve, reject) => {
      const lateAt = this.monotonicMs() + this.deadlineMs
      const waiting = { job, resolve: resolve as Waiting['resolve'], reject, lateAt }
      this.waiting.push(waiting)
      this.unanswered.add(waiting)
      this.sweeper ??= setTimeout(() => this.sweep(), this.deadlineMs).unref()
      this.draining ??= this.drain()
      if (this.waiting.length === LARGE_GROUP) this.leaveNow()
    })
  }

  /** Rejects the calls whose deadline has passed. Whoever came first is late first. */
  private sweep(): void {
    this.sweeper = undefined
    const now = this.monotonicMs()
    for (const waiting of this.unanswered) {
      if (waiting.lateAt > now) {
        this.sweeper = setTimeout(() => this.sweep(), waiting.lateAt - now).unref()
        return
      }
      const tooLate = `The store did not answer within ${this.deadlineMs} ms.`
      this.fail(waiting, new StoreUnavailableError(tooLate, {}, this.sending))
    }
  }

  /** Resolves when nothing waits any more. */
  async flushed(): Promise<void> {
    await this.draining
  }

  private async drain(): Promise<void> {
    // The first group is what comes in this turn of the event loop, or what has come when it is large.
    await new Promise<void>((resolve) => {
      this.leaveNow = resolve
      setImmediate(resolve)
    })
    while (this.waiting.length > 0) {
      this.sending = this.send(this.waiting.splice(0, MAX_GROUP))
      await this.sending
    }
    this.draining = null
  }

  private async send(group: readonly Waiting[]): Promise<void> {
    let sealed: Sealed[]
    let besides: Promise<unknown>[]
    let result: CommitResult
    const started = performance.now()
    try {
      this.log ??= { ...(await this.store.openLog()) }
      sealed = this.seal(group, this.log.log, this.log.next_index)
      if (sealed.length === 0) return
      const commit = this.store.commit(sealed.map(({ mutation }) => mutation))
      besides = sealed.map(startBeside)
      result = await commit
    } catch (cause) {
      // Whether the group became durable is unknown; the store says where the log really ends.
      this.log = null
      const error =
        cause instanceof StoreUnavailableError
          ? cause
          : new StoreUnavailableError('The mutations could not be written.', { cause })
      for (const waiting of group) this.fail(waiting, error)
      return
    }
    const storeMs = performance.now() - started
    const written = sealed.slice(0, result.written)
    const entries = written.filter(({ mutation }) => mutation.entry !== null).length
    this.log.next_index += entries
    if (entries > 0) {
      this.newest = { log: this.log.log, index: this.log.next_index - 1 }
      this.onEntries()
    }
    if (result.conflict === 'log_index') this.log = null
    for (const [i, one] of written.entries()) {
      const conflict = result.lateConflicts?.get(i)
      if (conflict !== undefined) this.fail(one.waiting, errorOf(conflict))
      else if (result.unsettled?.has(i)) this.fail(one.waiting, new StoreUnavailableError('The budget is too busy.'))
      else void this.answer(one, besides[i], storeMs)
    }
    if (result.conflict !== null) {
      const { waiting } = sealed[result.written] as Sealed
      this.fail(waiting, errorOf(result.conflict))
      for (const i of result.repeated ?? []) this.fail((sealed[i] as Sealed).waiting, errorOf('idempotency_key'))
      const rest = sealed.slice(result.written + 1).map((one) => one.waiting)
      this.waiting.unshift(...rest.filter((one) => this.unanswered.has(one)))
    }
  }

  /** The mutations of a group, each entry with the next position in the log. One that cannot be made fails alone. */
  private seal(group: readonly Waiting[], log: string, nextIndex: number): Sealed[] {
    const sealed: Sealed[] = []
    let index = nextIndex
    for (const waiting of group.filter((one) => this.unanswered.has(one)))
      try {
        const made = waiting.job(log, index)
        if (made.mutation.holds?.() === false) throw errorOf('outdated')
        if (made.mutation.entry !== null) index += 1
        sealed.push({ ...made, waiting })
      } catch (error) {
        this.fail(waiting, error)
      }
    return sealed
  }

  private async answer({ waiting, result }: Sealed, beside: unknown, storeMs: number): Promise<void> {
    try {
      waiting.resolve(result(await beside, storeMs))
      this.answered(waiting)
    } catch (error) {
      this.fail(waiting, error)
    }
  }

  private fail(waiting: Waiting, error: unknown): void {
    this.answered(waiting)
    waiting.reject(error)
  }

  private answered(waiting: Waiting): void {
    this.unanswered.delete(waiting)
    if (this.unanswered.size > 0) return
    clearTimeout(this.sweeper)
    this.sweeper = undefined
  }
}

function errorOf(conflict: Conflict): Error {
  switch (conflict) {
    case 'log_index':
      return new StoreUnavailableError('Another process writes to this audit log.')
    case 'too_large':
      return new DomainError('limit_reached')
    case 'outdated':
      return new DomainError('replica_stale')
    case 'voided':
      return new StoreUnavailableError('The mutation took so long that another process gave it up.')
    default:
      return new ConflictError(conflict)
  }
}

function startBeside({ beside }: SealedMutation): Promise<unknown> {
  const started = (async () => await beside())()
  // It is awaited only after the mutation is durable; until then a failure must not count as unhandled.
  started.catch(() => {})
  return started
}
