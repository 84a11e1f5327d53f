import { randomBytes } from 'node:crypto'
import { StoreUnavailableError } from '../../../ports/store/errors.js'
import type { Database } from '../connection/database.js'
import { assertOwnSchema } from '../schema.js'
import { sendSignal } from '../signals.js'
import type { Intent, LogDocument } from '../stored.js'
import { type Followers, finishGroup } from './finish-group.js'
import { completion, heldUntil, intentUpdate, newLog, settlement, takeLog, writeLog } from './log-document.js'

/** `log` is the document as it was last written. */
type State =
  /** No log, or one that another process has taken. */
  | { readonly kind: 'closed' }
  /** `next`: the index of the next entry. */
  | { readonly kind: 'open'; readonly log: LogDocument; readonly next: number }
  /** The outcome of the last group, or of the document's last write, is unknown. */
  | { readonly kind: 'doubtful'; readonly log: LogDocument }

/**
 * The audit log that this process writes. The log document records the intents of a group before its records are
 * written. So a process that takes the log over after a crash knows which records may still be in progress. It
 * completes or fences each of them, and writes a void entry for each fenced one.
 */
export class Log {
  readonly #process = randomBytes(9).toString('base64url')
  #state: State = { kind: 'closed' }

  constructor(
    private readonly database: Database,
    private readonly followers: Followers,
    private readonly nowMs: () => number,
  ) {}

  async open(): Promise<{ readonly log: string; readonly next_index: number }> {
    const mine = await this.#take()
    this.#state = { kind: 'doubtful', log: mine }
    const next = await finishGroup(this.database, this.followers, mine)
    const log = await writeLog(this.database, mine, completion(mine, next))
    if (log === null) throw new StoreUnavailableError('Another process has taken over the audit log.')
    this.#state = { kind: 'open', log, next }
    return { log: log._id, next_index: next }
  }

  /** The index of the next entry. @throws StoreUnavailableError unless the log is open */
  get nextIndex(): number {
    return this.#opened().next
  }

  get name(): string | null {
    return this.#state.kind === 'closed' ? null : this.#state.log._id
  }

  /** Whether an entry is known to be in the log, because a later group of this process was sent. */
  isCopied({ log, index }: { readonly log: string; readonly index: number }): boolean {
    return this.#state.kind === 'open' && log === this.#state.log._id && index < this.#state.log.start
  }

  /** Writes the intents of the next group. False when another process has taken the log. */
  async writeIntents(group: readonly Intent[]): Promise<boolean> {
    const { log, next } = this.#opened()
    const update = { ...intentUpdate(log, next, group), until_ms: heldUntil(this.nowMs()) }
    const written = await writeLog(this.database, log, update)
    this.#state = written === null ? { kind: 'closed' } : { kind: 'open', log: written, next }
    return written !== null
  }

  /**
   * Records that every record of the last group is committed or never will be, so that no change of it is in progress.
   */
  async settle(): Promise<void> {
    if (this.#state.kind !== 'open' || this.#state.log.underway.length === 0) return
    const { log, next } = this.#state
    const written = await writeLog(this.database, log, settlement(log))
    // Otherwise another process has taken the log, and does it after it has read the records.
    if (written === null) return
    this.#state = { kind: 'open', log: written, next }
    sendSignal(this.database)
  }

  /** Call this when every entry of the last group is in the log. */
  advance(entries: number): void {
    // A group without intents does not need the log, which another process may have now.
    if (entries === 0) return
    const { log, next } = this.#opened()
    this.#state = { kind: 'open', log, next: next + entries }
  }

  /** Call this when the outcome of the last group is unknown: the log must be opened again. */
  doubt(): void {
    if (this.#state.kind === 'open') this.#state = { kind: 'doubtful', log: this.#state.log }
  }

  /**
   * Completes pending work in each log without a holder, and removes its document, because the log will not be
   * continued.
   */
  async leaveFree(): Promise<void> {
    const { logs } = this.database
    for (;;) {
      const found = await this.#findFree()
      if (found === null) return
      const taken = await takeLog(this.database, found)
      if (taken === null) continue
      await finishGroup(this.database, this.followers, taken)
      await this.database.call(() => logs.deleteOne({ _id: taken._id, epoch: taken.epoch }))
    }
  }

  /** Announces that this process is alive. No process should wait for a log that may not be opened again. */
  async renew(): Promise<void> {
    if (this.#state.kind !== 'open') return
    const { _id, epoch } = this.#state.log
    const $set = { until_ms: heldUntil(this.nowMs()) }
    await this.database.call(() => this.database.logs.updateOne({ _id, epoch }, { $set }))
  }

  /** Leaves the log to the next process; another process completes what is unknown about it. */
  async giveUp(): Promise<void> {
    const state = this.#state
    this.#state = { kind: 'closed' }
    if (state.kind === 'closed') return
    const { _id, epoch } = state.log
    const $set = { holder: null, until_ms: 0 }
    if (state.kind === 'open')
      await writeLog(this.database, state.log, { ...completion(state.log, state.next), ...$set })
    else await this.database.call(() => this.database.logs.updateOne({ _id, epoch }, { $set }))
  }

  #opened(): Extract<State, { readonly kind: 'open' }> {
    if (this.#state.kind !== 'open') throw new StoreUnavailableError('The audit log must be opened first.')
    return this.#state
  }

  #findFree(): Promise<LogDocument | null> {
    const isFree = { $or: [{ holder: null }, { until_ms: { $lt: this.nowMs() } }] }
    return this.database.call(() => this.database.logs.findOne(isFree, { sort: { _id: 1 } }))
  }

  /**
   * Takes the log of this process, or one without a holder, or a new one. Anything in progress for it has no effect.
   */
  async #take(): Promise<LogDocument> {
    const { logs } = this.database
    const holder = this.#process
    for (;;) {
      const nowMs = this.nowMs()
      const found = (await this.database.call(() => logs.findOne({ holder }))) ?? (await this.#findFree())
      await assertOwnSchema(this.database)
      const until_ms = heldUntil(nowMs)
      if (found === null) {
        await this.database.insertNew(logs, [newLog(holder, until_ms)])
        continue
      }
      const taken = await takeLog(this.database, found, { holder, until_ms })
      if (taken !== null) return taken
    }
  }
}
