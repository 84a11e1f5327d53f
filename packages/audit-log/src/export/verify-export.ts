/** Verifies an export of audit logs, line by line: whether it is what its servers wrote, and all of it. */
import type { AuditEntry } from '@countersign/contract'
import { type Checkpoint, parseCheckpoint } from '../checkpoint.js'
import type { TrustedKeys } from '../entry-proof.js'
import { leafHashOfText } from '../leaf.js'
import { type Note, NoteError, parseNote, verifyNoteByKeys } from '../note.js'
import { isRootOrigin, logOfOrigin } from '../origin.js'
import { MerkleTree } from '../tree.js'
import { isSameHash } from '../verify.js'
import { ExpectedRoots } from './expected-roots.js'
import { LineError, parseExportLine, placeOf } from './line.js'
import { type ExportPlace, LogVerifier } from './log-verifier.js'
import { RecomputedBudgets } from './recomputed-budgets.js'

/** Something in it was changed, added, moved or removed. */
export class TamperedError extends Error {
  override readonly name = 'TamperedError'

  /**
   * @param line counted from 1
   * @param place of the entry that belongs into this line; where any log may begin, of the one that stands there; null when
   *   nobody knows, and for a line without an entry
   * @param entryId of the entry that stands there; null when there is none that can be read
   */
  constructor(
    readonly line: number,
    message: string,
    readonly place: ExportPlace | null = null,
    readonly entryId: string | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** What is there is as it was written, and more was written. */
export class IncompleteError extends Error {
  override readonly name = 'IncompleteError'

  /** @param missing of each log that ends too early, in the order of the names, the first entry that is not there */
  constructor(
    message: string,
    readonly missing: readonly ExportPlace[] = [],
  ) {
    super(message)
  }
}

export interface VerifiedExport {
  /** By log, in the order of the names: how many entries it has. */
  readonly logs: ReadonlyMap<string, number>
  readonly checkpoints: number
  /** The checkpoint of the root log: it stands for all that was verified. */
  readonly root: Checkpoint
  readonly budgets: RecomputedBudgets
}

export interface ExportVerifierOptions extends TrustedKeys {
  /** Checkpoints that were kept elsewhere: the logs must have them in their past. */
  readonly kept?: readonly Checkpoint[]
}

/**
 * Takes the lines of an export in their order. Its memory grows with the checkpoints (up to 100 bytes for each) and with the
 * decisions that have budgets (about 1 KB for each), not with the entries.
 *
 * @throws TamperedError from `add`, at the first line that is not as it was written; nothing behind it was looked at
 */
export class ExportVerifier {
  #line = 0
  #entries = 0
  /** Set when the checkpoints are complete. */
  #root: Checkpoint | null = null
  readonly #rootLog = new MerkleTree()
  readonly #logs = new Map<string, LogVerifier>()
  #current: LogVerifier | null = null
  readonly #budgets = new RecomputedBudgets()
  readonly #keptOfRoot: ExpectedRoots
  /** The place of the entry that belongs into the line; null: any log may begin, or there is none. */
  #belongs: ExportPlace | null = null

  constructor(private readonly options: ExportVerifierOptions) {
    this.#keptOfRoot = this.#kept(isRootOrigin)
  }

  /** How many lines were taken. */
  get lines(): number {
    return this.#line
  }

  /** @param line without its newline */
  async add(line: Uint8Array): Promise<void> {
    this.#line += 1
    this.#belongs = this.#current?.next ?? null
    try {
      const parsed = parseExportLine(line)
      if (parsed.kind === 'checkpoint') await this.#addCheckpoint(parsed.note)
      else this.#addEntry(parsed.entry)
    } catch (error) {
      if (!(error instanceof LineError || error instanceof NoteError)) throw error
      throw this.#tampered(error)
    }
  }

  #tampered(cause: LineError | NoteError): TamperedError {
    const stands = cause instanceof LineError ? cause.entry : null
    const place = this.#belongs ?? (stands && { log: stands.log, index: stands.index })
    const isInPlace = place?.log === stands?.log && place?.index === stands?.index
    const hint = place === null || isInPlace ? '' : ` Entry ${place.index} of log ${place.log} belongs here.`
    const message = `Line ${this.#line}: ${cause.message}${hint}`
    return new TamperedError(this.#line, message, place, stands?.id ?? null, { cause })
  }

  #addEntry(entry: AuditEntry): void {
    if (this.#root === null) throw new LineError('An entry comes before the checkpoint of the root log.', entry)
    if (this.#current?.log !== entry.log) this.#begin(entry)
    this.#current?.add(entry)
    this.#entries += 1
    this.#budgets.add(entry)
  }

  /**
   * The export has no more lines.
   *
   * @throws IncompleteError
   */
  end(): VerifiedExport {
    if (this.#root === null)
      throw new IncompleteError('The export has no checkpoint of the root log. It ends before its first entry.')
    const inOrder = [...this.#logs.values()].sort((one, other) => (one.log < other.log ? -1 : 1))
    const short = inOrder.filter((log) => !log.isComplete)
    if (short.length > 0)
      throw new IncompleteError(
        short.map((log) => log.missing).join('\n'),
        short.map(({ log, size }) => ({ log, index: size })),
      )
    const later = this.#keptOfRoot.next
    if (later !== null)
      throw new IncompleteError(
        `${later.source} has ${later.size} checkpoints, and this root log ${this.#rootLog.size}: the export is older, or the end of the root log was removed.`,
      )
    const logs = new Map(inOrder.map(({ log, size }) => [log, size]))
    return { logs, checkpoints: this.#rootLog.size, root: this.#root, budgets: this.#budgets }
  }

  async #addCheckpoint(text: string): Promise<void> {
    if (this.#entries > 0 || this.#root !== null) throw new LineError('A checkpoint stands behind the checkpoints.')
    const note = parseNote(text)
    const checkpoint = parseCheckpoint(note.text)
    if (isRootOrigin(checkpoint.origin)) return this.#endCheckpoints(note, checkpoint)
    const name = logOfOrigin(checkpoint.origin)
    if (name === null) throw new LineError(`The checkpoint of ${checkpoint.origin} is of no audit log.`)
    let log = this.#logs.get(name)
    if (log === undefined) {
      const listed = new ExpectedRoots((line) => `the checkpoint in line ${line}`)
      log = new LogVerifier(
        name,
        listed,
        this.#kept((origin) => logOfOrigin(origin) === name),
      )
      this.#logs.set(name, log)
    }
    log.expect(checkpoint, this.#line)
    this.#rootLog.append(leafHashOfText(text))
    const source = this.#keptOfRoot.contradictionOf(this.#rootLog)
    if (source !== null) throw new LineError(`${source} has another root log up to here.`)
  }

  /** Its signature covers every checkpoint before it, so that theirs may be of keys that are no longer published. */
  async #endCheckpoints(note: Note, checkpoint: Checkpoint): Promise<void> {
    if (checkpoint.size !== this.#rootLog.size)
      throw new LineError(`The root log has ${checkpoint.size} checkpoints, and ${this.#rootLog.size} are here.`)
    if (!isSameHash(checkpoint.root, this.#rootLog.root()))
      throw new LineError('The checkpoints are not those of the root log: one was changed, moved, added or removed.')
    await verifyNoteByKeys(note, this.options.publicKeys, this.options.verify)
    for (const { origin, size } of this.options.kept ?? []) {
      const name = logOfOrigin(origin)
      if (name !== null && size > 0 && !this.#logs.has(name))
        throw new LineError(`The root log has no log ${name}, of which a checkpoint was kept.`)
    }
    this.#root = checkpoint
  }

  #begin(entry: AuditEntry): void {
    const log = this.#logs.get(entry.log)
    if (log === undefined) throw new LineError(`No checkpoint covers ${placeOf(entry)}.`, entry)
    if (log.size > 0)
      throw new LineError(`The entries of log ${entry.log} ended before, and ${placeOf(entry)} stands here.`, entry)
    this.#current = log
    this.#belongs ??= log.next
  }

  /** Every log goes on from an empty one: a kept checkpoint of that says nothing. */
  #kept(isOf: (origin: string) => boolean): ExpectedRoots {
    const kept = (this.options.kept ?? [])
      .filter(({ origin, size }) => isOf(origin) && size > 0)
      .sort((one, other) => one.size - other.size)
    const roots = new ExpectedRoots((i) => `the kept checkpoint of ${kept[i]?.origin} at ${kept[i]?.size}`)
    kept.forEach((checkpoint, i) => void roots.push(checkpoint, i))
    return roots
  }
}
