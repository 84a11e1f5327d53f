/** Verifies an export of audit logs, line by line: that it is unchanged and complete. */
import type { AuditEntry } from '@countersign/contract'
import { type Checkpoint, parseCheckpoint } from '../checkpoint.js'
import type { TrustedKeys } from '../entry-proof.js'
import { leafHashOfText } from '../leaf.js'
import { type Note, NoteError, parseNote, verifyNoteByKeys } from '../note.js'
import { isRootOrigin, logOfOrigin, rootOfOrigin } from '../origin.js'
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
   * @param place of the entry that belongs into this line; where any log may begin, the place of the present entry;
   *   null when unknown, and for a line without an entry
   * @param entryId of the present entry; null when none can be read
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

/** The present lines are unchanged, but more were written. */
export class IncompleteError extends Error {
  override readonly name = 'IncompleteError'

  /** @param missing the first missing entry of each log that ends too early, in the order of the names */
  constructor(
    message: string,
    readonly missing: readonly ExportPlace[] = [],
  ) {
    super(message)
  }
}

/**
 * Explains what it means that a store was restored to before a checkpoint of the root log. @param kept that checkpoint,
 * in words, and its size
 */
export function lostWithRestore(kept: { readonly source: string; readonly size: number }, restoredTo: number): string {
  return `${kept.source} has ${kept.size} checkpoints, and the store was restored to ${restoredTo} of them: what came later was lost with it.`
}

/** A line with the checkpoint of a root log. */
interface RootNote {
  readonly text: string
  readonly checkpoint: Checkpoint
  /** Why this may not be the last checkpoint of the export. */
  readonly fault: TamperedError | null
}

export interface VerifiedExport {
  /** The number of entries by log, in the order of the names. */
  readonly logs: ReadonlyMap<string, number>
  readonly checkpoints: number
  /** The checkpoint of the root log, which covers everything that was verified. */
  readonly root: Checkpoint
  /** The last checkpoint of each root log that the present one continues after a restore of the store. */
  readonly formerRoots: readonly Checkpoint[]
  readonly budgets: RecomputedBudgets
}

export interface ExportVerifierOptions extends TrustedKeys {
  /** Checkpoints that were kept elsewhere: the logs must contain them in their past. */
  readonly kept?: readonly Checkpoint[]
}

/**
 * Takes the lines of an export in their order. Its memory grows with the checkpoints (up to 100 bytes for each) and
 * with the decisions that have budgets (about 1 KB for each), not with the entries.
 *
 * @throws TamperedError from `add`, at the first changed line; nothing after it was checked. IncompleteError from `add`
 *   for a line in which the server says that it could not continue
 */
export class ExportVerifier {
  #line = 0
  #entries = 0
  /** The last line of a root log so far: the checkpoints are complete, unless another one follows. */
  #root: RootNote | null = null
  readonly #formerRoots: Checkpoint[] = []
  readonly #rootLog = new MerkleTree()
  readonly #logs = new Map<string, LogVerifier>()
  #current: LogVerifier | null = null
  readonly #budgets = new RecomputedBudgets()
  /** By the name of the root log. */
  readonly #keptOfRoots: Map<string, ExpectedRoots>
  /** Sentences about kept checkpoints that were lost with a restore. */
  readonly #lost: string[] = []
  /** The place of the entry that belongs into the line; null: any log may begin, or there is none. */
  #belongs: ExportPlace | null = null

  constructor(private readonly options: ExportVerifierOptions) {
    const names = new Set((options.kept ?? []).flatMap(({ origin }) => rootOfOrigin(origin) ?? []))
    this.#keptOfRoots = new Map([...names].map((name) => [name, this.#kept((origin) => rootOfOrigin(origin) === name)]))
  }

  /** The number of lines taken. */
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
      else if (parsed.kind === 'entry') this.#addEntry(parsed.entry)
      else
        throw new IncompleteError(
          `Line ${this.#line}: The server could not write the export to its end. ${parsed.problem}`,
        )
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
    this.#assertWhole(this.#root)
    if (this.#current?.log !== entry.log) this.#begin(entry)
    this.#current?.add(entry)
    this.#entries += 1
    this.#budgets.add(entry)
  }

  /**
   * Ends the export.
   *
   * @throws IncompleteError; TamperedError when there is no entry, and the checkpoint of the root log is not as it was
   *   signed
   */
  end(): VerifiedExport {
    if (this.#root === null)
      throw new IncompleteError('The export has no checkpoint of the root log. It ends before its first entry.')
    this.#assertWhole(this.#root)
    const inOrder = [...this.#logs.values()].sort((one, other) => (one.log < other.log ? -1 : 1))
    const short = inOrder.filter((log) => !log.isComplete)
    if (short.length > 0)
      throw new IncompleteError(
        short.map((log) => log.missing).join('\n'),
        short.map(({ log, size }) => ({ log, index: size })),
      )
    const { checkpoint: root } = this.#root
    const later = this.#keptOfRoots.get(rootOfOrigin(root.origin) ?? '')?.next ?? null
    if (later !== null)
      throw new IncompleteError(
        `${later.source} has ${later.size} checkpoints, and this root log ${this.#rootLog.size}: the export is older, or the end of the root log was removed.`,
      )
    if (this.#lost.length > 0) throw new IncompleteError(this.#lost.join('\n'))
    const logs = new Map(inOrder.map(({ log, size }) => [log, size]))
    const formerRoots = [...this.#formerRoots]
    return { logs, checkpoints: this.#rootLog.size, root, formerRoots, budgets: this.#budgets }
  }

  async #addCheckpoint(text: string): Promise<void> {
    if (this.#entries > 0) throw new LineError('A checkpoint stands behind the checkpoints.')
    if (this.#root !== null) this.#goOnFrom(this.#root)
    const note = parseNote(text)
    const checkpoint = parseCheckpoint(note.text)
    if (isRootOrigin(checkpoint.origin)) return this.#endCheckpoints(text, note, checkpoint)
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
    this.#appendToRootLog(text)
  }

  #appendToRootLog(note: string): void {
    this.#rootLog.append(leafHashOfText(note))
    for (const kept of this.#keptOfRoots.values()) {
      const source = kept.contradictionOf(this.#rootLog)
      if (source !== null) throw new LineError(`${source} has another root log up to here.`)
    }
  }

  /**
   * The store was restored here: the root log continues under another name, and its first leaf is the last checkpoint
   * of the former one.
   */
  #goOnFrom({ text, checkpoint }: RootNote): void {
    const name = rootOfOrigin(checkpoint.origin) ?? ''
    const lost = this.#keptOfRoots.get(name)?.next ?? null
    if (lost !== null) this.#lost.push(lostWithRestore(lost, checkpoint.size))
    this.#keptOfRoots.delete(name)
    this.#formerRoots.push(checkpoint)
    this.#root = null
    this.#appendToRootLog(text)
  }

  /**
   * Its signature covers every checkpoint before it, so they may be signed with keys that are no longer published. The
   * same applies to the checkpoint of a former root log, which is checked only when no other checkpoint follows.
   */
  async #endCheckpoints(text: string, note: Note, checkpoint: Checkpoint): Promise<void> {
    if (checkpoint.size !== this.#rootLog.size)
      throw new LineError(`The root log has ${checkpoint.size} checkpoints, and ${this.#rootLog.size} are here.`)
    if (!isSameHash(checkpoint.root, this.#rootLog.root()))
      throw new LineError('The checkpoints are not those of the root log: one was changed, moved, added or removed.')
    if (this.#formerRoots.some(({ origin }) => rootOfOrigin(origin) === rootOfOrigin(checkpoint.origin)))
      throw new LineError('The root log continues from another one with the same name.')
    const fault = await this.#faultOfRoot(note, checkpoint).catch((error) => error as NoteError)
    if (fault !== null && !(fault instanceof LineError || fault instanceof NoteError)) throw fault
    this.#root = { text, checkpoint, fault: fault && this.#tampered(fault) }
  }

  /** @throws NoteError */
  async #faultOfRoot(note: Note, { origin: root }: Checkpoint): Promise<LineError | null> {
    await verifyNoteByKeys(note, this.options.publicKeys, this.options.verify)
    for (const { origin, size } of this.options.kept ?? []) {
      const name = logOfOrigin(origin)
      if (name !== null && size > 0 && !this.#logs.has(name))
        return new LineError(`The root log has no log ${name}, of which a checkpoint was kept.`)
    }
    const other = [...this.#keptOfRoots].find(([name, kept]) => name !== rootOfOrigin(root) && kept.lastSize > 0)
    return other === undefined
      ? null
      : new LineError(`A checkpoint of the root log ${other[0]} was kept, but ${root} does not continue from it.`)
  }

  /** @throws TamperedError */
  #assertWhole({ fault }: RootNote): void {
    if (fault !== null) throw fault
  }

  #begin(entry: AuditEntry): void {
    const log = this.#logs.get(entry.log)
    if (log === undefined) throw new LineError(`No checkpoint covers ${placeOf(entry)}.`, entry)
    if (log.size > 0)
      throw new LineError(`The entries of log ${entry.log} ended before, and ${placeOf(entry)} stands here.`, entry)
    this.#current = log
    this.#belongs ??= log.next
  }

  /** Every log extends an empty one, so a kept checkpoint of size 0 says nothing. */
  #kept(isOf: (origin: string) => boolean): ExpectedRoots {
    const kept = (this.options.kept ?? [])
      .filter(({ origin, size }) => isOf(origin) && size > 0)
      .sort((one, other) => one.size - other.size)
    const roots = new ExpectedRoots((i) => `the kept checkpoint of ${kept[i]?.origin} at ${kept[i]?.size}`)
    kept.forEach((checkpoint, i) => void roots.push(checkpoint, i))
    return roots
  }
}
