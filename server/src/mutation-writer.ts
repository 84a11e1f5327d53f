/**
 * The only way to write to the store. Waiting requests become durable together (group commit): the mutations of one
 * turn of the event loop form a group, unless it becomes large before. While one group is being written, the next one
 * collects. A mutation gets its position in the audit log only when its group is sent, so that failures leave no gaps
 * in the log.
 */
import { leafHash } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import { DomainError } from './domain-error.js'
import type { Ids } from './ports/ids.js'
import type { LogPosition } from './ports/store/audit.js'
import type { AuditPosition, IdempotencyRecord, StoredDecision } from './ports/store/documents.js'
import { StoreUnavailableError } from './ports/store/errors.js'
import {
  type Change,
  type CommitResult,
  type Conflict,
  ConflictError,
  type Mutation,
  type Store,
} from './ports/store/store.js'

/** What a use case wants to write: a {@link Mutation} without its position in the audit log. */
export interface MutationDraft<Draft extends ChangeDraft = ChangeDraft>
  extends Pick<Mutation, 'idempotency' | 'holds'> {
  readonly entry: Omit<AuditEntry, 'id' | 'log' | 'index' | 'leaf'>
  readonly change: Draft
}

/**
 * A new decision contains the name of its entry, and gets that name with the position. All other changes are complete.
 */
export type ChangeDraft =
  | Exclude<Change, { readonly kind: 'decision.create' }>
  | (Omit<ChangeOf<'decision.create'>, 'decision'> & { readonly decision: Omit<StoredDecision, 'audit'> })

type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>

export interface Written<Beside> {
  readonly position: AuditPosition
  /** The result of `beside`. */
  readonly beside: Beside
  /** From sending the group to its durability, in milliseconds. */
  readonly storeMs: number
}

interface Waiting {
  /** A draft without an entry needs no position. */
  readonly draft: MutationDraft | (Mutation & { readonly entry: null })
  readonly beside: (position: AuditPosition, change: Change) => Promise<unknown>
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  /** By the monotonic clock, in milliseconds; null: never. */
  readonly lateAt: number | null
}

/** A member of a group that is being sent. */
interface Sealed {
  readonly waiting: Waiting
  readonly mutation: Mutation
}

const MAX_GROUP = 256
/** With this many mutations the store begins. The rest of the turn joins the next group. */
const LARGE_GROUP = 16
/** More than this many waiting mutations mean that the store does not keep up: reject rather than grow. */
const MAX_WAITING = 20_000

export class MutationWriter {
  private readonly waiting: Waiting[] = []
  /**
   * Mutations whose caller has no answer yet, oldest first. A mutation that is unsent when its caller is answered is
   * never sent.
   */
  private readonly unanswered = new Set<Waiting>()
  private sweeper: NodeJS.Timeout | undefined
  private draining: Promise<void> | null = null
  /** Sends the first group before the event loop turns. Later calls do nothing. */
  private leaveNow: () => void = () => {}
  /** The write in progress. A mutation that waits for it, and whose caller was answered, is never sent later. */
  private sending: Promise<void> = Promise.resolve()
  private log: { readonly log: string; next_index: number } | null = null
  private newestAt = ''
  private newest: LogPosition | null = null
  /** Called with entries that have become durable, and with none when it is unknown whether some have. */
  onEntries: (entries: readonly AuditEntry[]) => void = () => {}

  /**
   * @param deadlineMs how long a caller waits for durability before its call rejects; null: without limit
   * @param monotonicMs the clock of the deadlines
   */
  constructor(
    private readonly store: Pick<Store, 'openLog' | 'commit'>,
    private readonly ids: Pick<Ids, 'next'>,
    private deadlineMs: number | null,
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {}

  /** From now on callers wait no longer than this for durability. */
  limitWaits(deadlineMs: number): void {
    this.deadlineMs = deadlineMs
  }

  /** The newest position in the audit log that this process has written; null before the first. */
  get newestEntry(): LogPosition | null {
    return this.newest
  }

  /** How many mutations wait for the write in progress to end. */
  get waitingMutations(): number {
    return this.waiting.length
  }

  /**
   * Resolves once the mutation is durable and `beside` (work that only needs the position in the log, such as signing)
   * is done. `beside` runs while the mutation is being written, and runs again if the mutation gets another position
   * and so another change.
   *
   * @throws ConflictError when a condition of the mutation does not hold.
   * @throws DomainError limit_reached when the store cannot hold the change; replica_stale when `holds` is false.
   * @throws StoreUnavailableError when the mutation is not known to be durable within the deadline. It may still become
   *   durable.
   */
  write<Draft extends ChangeDraft, Beside = void>(
    draft: MutationDraft<Draft>,
    beside: (position: AuditPosition, change: ChangeOf<Draft['kind']>) => Promise<Beside> = async () =>
      undefined as Beside,
  ): Promise<Written<Beside>> {
    // The change keeps the kind of its draft.
    return this.enqueue(draft, beside as Waiting['beside'])
  }

  /**
   * Resolves once the idempotency record of a call that changed nothing is durable. Such a call has no entry in the
   * log.
   *
   * @throws as {@link write}
   */
  async writeCall(idempotency: IdempotencyRecord): Promise<void> {
    await this.enqueue({ entry: null, change: { kind: 'call.only' }, idempotency }, () => Promise.resolve())
  }

  /** Writes an entry of the server itself, with which nothing else changes. @throws as {@link write} */
  async writeEntry(entry: Pick<MutationDraft['entry'], 'at' | 'type' | 'subject' | 'data'>): Promise<void> {
    const own = { ...entry, actor: null, agent_id: null }
    await this.write({ entry: own, change: { kind: 'entry.only' }, idempotency: null })
  }

  private enqueue<Beside>(draft: Waiting['draft'], beside: Waiting['beside']): Promise<Written<Beside>> {
    if (this.waiting.length >= MAX_WAITING)
      return Promise.reject(new StoreUnavailableError('Too many mutations wait for the store.'))
    return new Promise((resolve, reject) => {
      const { deadlineMs } = this
      const lateAt = deadlineMs === null ? null : this.monotonicMs() + deadlineMs
      const waiting = { draft, beside, resolve: resolve as Waiting['resolve'], reject, lateAt }
      this.waiting.push(waiting)
      this.unanswered.add(waiting)
      if (deadlineMs !== null) this.sweeper ??= setTimeout(() => this.sweep(), deadlineMs).unref()
      this.draining ??= this.drain()
      if (this.waiting.length === LARGE_GROUP) this.leaveNow()
    })
  }

  /** Rejects the calls whose deadline has passed. Calls become late in order of arrival. */
  private sweep(): void {
    this.sweeper = undefined
    const now = this.monotonicMs()
    for (const waiting of this.unanswered) {
      const { lateAt } = waiting
      if (lateAt === null) continue
      if (lateAt > now) {
        this.sweeper = setTimeout(() => this.sweep(), lateAt - now).unref()
        return
      }
      const tooLate = `The store did not answer within ${this.deadlineMs} ms.`
      this.fail(waiting, new StoreUnavailableError(tooLate, {}, this.sending))
    }
  }

  /** Resolves when no mutation waits. */
  async flushed(): Promise<void> {
    await this.draining
  }

  private async drain(): Promise<void> {
    // The first group is what arrives in this turn of the event loop, or what has arrived when it is large.
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
      // It is unknown whether the group became durable; the store says where the log really ends.
      this.log = null
      const error =
        cause instanceof StoreUnavailableError
          ? cause
          : new StoreUnavailableError('The mutations could not be written.', { cause })
      for (const waiting of group) this.fail(waiting, error)
      this.onEntries([])
      return
    }
    const storeMs = performance.now() - started
    const written = sealed.slice(0, result.written)
    const entries = written.filter(({ mutation }) => mutation.entry !== null).length
    this.log.next_index += entries
    if (entries > 0) {
      this.newest = { log: this.log.log, index: this.log.next_index - 1 }
      this.onEntries(
        written.flatMap(({ mutation: { entry } }, i) => (entry && !result.lateConflicts?.has(i) ? [entry] : [])),
      )
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

  /** Gives each entry of a group the next position in the log. A mutation that cannot be built fails alone. */
  private seal(group: readonly Waiting[], log: string, nextIndex: number): Sealed[] {
    const sealed: Sealed[] = []
    let index = nextIndex
    for (const waiting of group.filter((one) => this.unanswered.has(one)))
      try {
        const mutation = this.mutationAt(waiting.draft, log, index)
        if (mutation.holds?.() === false) throw errorOf('outdated')
        if (mutation.entry !== null) index += 1
        sealed.push({ waiting, mutation })
      } catch (error) {
        this.fail(waiting, error)
      }
    return sealed
  }

  private mutationAt(draft: Waiting['draft'], log: string, index: number): Mutation {
    if (draft.entry === null) return draft
    const { entry, change, idempotency, holds } = draft
    // The call that read the clock first may come second: within a log, time never decreases.
    if (entry.at > this.newestAt) this.newestAt = entry.at
    const { trace_id = null } = entry
    const unhashed = { id: this.ids.next('aud'), log, index, ...entry, at: this.newestAt, trace_id }
    const leaf = leafHash(unhashed)
    return { change: placed(change, { log, index, leaf }), entry: { ...unhashed, leaf }, idempotency, holds }
  }

  private async answer({ waiting, mutation }: Sealed, beside: unknown, storeMs: number): Promise<void> {
    try {
      waiting.resolve({ position: mutation.entry, beside: await beside, storeMs })
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

function placed(change: ChangeDraft, audit: AuditPosition): Change {
  if (change.kind !== 'decision.create') return change
  return { ...change, decision: { ...change.decision, audit } }
}

function startBeside({ waiting, mutation: { entry, change } }: Sealed): Promise<unknown> {
  const started = (async () => entry && (await waiting.beside(entry, change)))()
  // It is awaited only after the mutation is durable; until then a failure must not count as unhandled.
  started.catch(() => {})
  return started
}
