/** Verifies an export of audit logs, line by line: whether it is what its servers wrote, and all of it. */
import type { AuditEntry } from '@countersign/contract'
import { type Checkpoint, parseCheckpoint } from '../checkpoint.js'
import type { TrustedKeys } from '../entry-proof.js'
import { bytesOfLeaf, leafHashOfText } from '../leaf.js'
import { type Note, NoteError, parseNote, verifyNoteByKeys } from '../note.js'
import { isRootOrigin, logOfOrigin } from '../origin.js'
import { type Hash, MerkleTree } from '../tree.js'
import { LineError, parseExportLine, placeOf } from './line.js'
import { RecomputedBudgets } from './recomputed-budgets.js'

/** Something in it was changed, added, moved or removed. */
export class TamperedError extends Error {
  override readonly name = 'TamperedError'

  /** @param line counted from 1 */
  constructor(
    readonly line: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** What is there is as it was written, and more was written. */
export class IncompleteError extends Error {
  override readonly name = 'IncompleteError'
}

export interface VerifiedExport {
  /** By log: how many entries it has. */
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

/** What the root of a log has to be at a size. */
interface Expected {
  readonly size: number
  readonly root: Hash
  /** For a person: which checkpoint says so. */
  readonly source: string
}

/**
 * Takes the lines of an export in their order. Its memory grows with the number of checkpoints, not with that of entries.
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
  readonly #keptOfRoot: Expected[]

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
    try {
      const parsed = parseExportLine(line)
      if (parsed.kind === 'checkpoint') return await this.#addCheckpoint(parsed.note)
      if (this.#root === null) throw new LineError('An entry comes before the checkpoint of the root log.')
      const { entry } = parsed
      if (this.#current?.log !== entry.log) this.#begin(entry.log, placeOf(entry))
      this.#current?.add(entry)
      this.#entries += 1
      this.#budgets.add(entry)
    } catch (error) {
      if (!(error instanceof LineError || error instanceof NoteError)) throw error
      throw new TamperedError(this.#line, `Line ${this.#line}: ${error.message}`, { cause: error })
    }
  }

  /**
   * The export has no more lines.
   *
   * @throws IncompleteError
   */
  end(): VerifiedExport {
    if (this.#root === null)
      throw new IncompleteError('The export has no checkpoint of the root log. It ends before its first entry.')
    const short = [...this.#logs.values()].filter((log) => !log.isComplete)
    if (short.length > 0) throw new IncompleteError(short.map((log) => log.missing).join('\n'))
    const logs = new Map([...this.#logs].map(([name, { size }]) => [name, size]))
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
      log = new LogVerifier(
        name,
        this.#kept((origin) => logOfOrigin(origin) === name),
      )
      this.#logs.set(name, log)
    }
    log.expect({ ...checkpoint, source: `the checkpoint in line ${this.#line}` })
    this.#rootLog.append(leafHashOfText(text))
    this.#compareRootLog()
  }

  /** Its signature covers every checkpoint before it, so that theirs may be of keys that are no longer published. */
  async #endCheckpoints(note: Note, checkpoint: Checkpoint): Promise<void> {
    if (checkpoint.size !== this.#rootLog.size)
      throw new LineError(`The root log has ${checkpoint.size} checkpoints, and ${this.#rootLog.size} are here.`)
    if (!isSame(checkpoint.root, this.#rootLog.root()))
      throw new LineError('The checkpoints are not those of the root log: one was changed, moved, added or removed.')
    await verifyNoteByKeys(note, this.options.publicKeys, this.options.verify)
    const [later] = this.#keptOfRoot
    if (later !== undefined)
      throw new LineError(`${later.source} has ${later.size} checkpoints, and this root log fewer.`)
    for (const { origin, size } of this.options.kept ?? []) {
      const name = logOfOrigin(origin)
      if (name !== null && size > 0 && !this.#logs.has(name))
        throw new LineError(`The root log has no log ${name}, of which a checkpoint was kept.`)
    }
    this.#root = checkpoint
  }

  #compareRootLog(): void {
    while (this.#keptOfRoot[0]?.size === this.#rootLog.size) {
      const kept = this.#keptOfRoot.shift() as Expected
      if (!isSame(kept.root, this.#rootLog.root()))
        throw new LineError(`${kept.source} has another root log up to here.`)
    }
  }

  #begin(name: string, place: string): void {
    const log = this.#logs.get(name)
    if (log === undefined) throw new LineError(`No checkpoint covers ${place}.`)
    if (log.size > 0) throw new LineError(`The entries of log ${name} ended before, and ${place} stands here.`)
    log.begin()
    this.#current = log
  }

  #kept(isOf: (origin: string) => boolean): Expected[] {
    return (this.options.kept ?? [])
      .filter(({ origin, size }) => isOf(origin) && size > 0)
      .map(({ origin, size, root }) => ({ size, root, source: `the kept checkpoint of ${origin} at ${size}` }))
      .sort((one, other) => one.size - other.size)
  }
}

/** The entries of one log, against its checkpoints. */
class LogVerifier {
  readonly #tree = new MerkleTree()
  readonly #expected: Expected[]
  /** How many of `#expected` were reached. */
  #reached = 0
  /** Of the newest checkpoint in the export. */
  #listedSize = 0
  #lastSize: number

  constructor(
    readonly log: string,
    kept: readonly Expected[],
  ) {
    this.#expected = [...kept]
    this.#lastSize = kept.at(-1)?.size ?? 0
  }

  get size(): number {
    return this.#tree.size
  }

  get isComplete(): boolean {
    return this.size === this.#lastSize
  }

  get missing(): string {
    return `Log ${this.log} has ${this.#lastSize} entries, and ${this.size} are here: entry ${this.size} is the first that is missing.`
  }

  /** @throws LineError */
  expect(expected: Expected): void {
    if (expected.size < this.#listedSize)
      throw new LineError(`The checkpoint has ${expected.size} entries, and one before it ${this.#listedSize}.`)
    this.#listedSize = expected.size
    this.#lastSize = Math.max(this.#lastSize, expected.size)
    this.#expected.push(expected)
  }

  /** All checkpoints are known. */
  begin(): void {
    this.#expected.sort((one, other) => one.size - other.size)
  }

  /** @throws LineError */
  add(entry: Pick<AuditEntry, 'id' | 'log' | 'index' | 'leaf'>): void {
    if (entry.index !== this.size)
      throw new LineError(`It is ${placeOf(entry)}, and entry ${this.size} of that log belongs here.`)
    if (this.isComplete) throw new LineError(`No checkpoint covers ${placeOf(entry)}.`)
    this.#tree.append(bytesOfLeaf(entry.leaf))
    const from = this.#expected[this.#reached - 1]?.size ?? 0
    for (let next = this.#expected[this.#reached]; next?.size === this.size; next = this.#expected[this.#reached]) {
      if (!isSame(next.root, this.#tree.root()))
        throw new LineError(
          `Log ${this.log} is not that of ${next.source}: of its entries ${from} to ${this.size - 1} one was replaced.`,
        )
      this.#reached += 1
    }
  }
}

function isSame(one: Hash, other: Hash): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i])
}
