/** Checks the entries of one log of an export against its checkpoints. */
import type { AuditEntry } from '@countersign/contract'
import type { Checkpoint } from '../checkpoint.js'
import { bytesOfLeaf } from '../leaf.js'
import { MerkleTree } from '../tree.js'
import type { ExpectedRoots } from './expected-roots.js'
import { LineError, placeOf } from './line.js'

/** A place in a log. */
export interface ExportPlace {
  readonly log: string
  readonly index: number
}

export class LogVerifier {
  readonly #tree = new MerkleTree()

  /**
   * @param listed the checkpoints in the export
   * @param kept the checkpoints that were kept elsewhere
   */
  constructor(
    readonly log: string,
    private readonly listed: ExpectedRoots,
    private readonly kept: ExpectedRoots,
  ) {}

  get size(): number {
    return this.#tree.size
  }

  /** Whether all entries are present and were compared with all checkpoints. */
  get isComplete(): boolean {
    return this.listed.areReached && this.kept.areReached
  }

  /** The place of the next entry; null when all are present. */
  get next(): ExportPlace | null {
    return this.isComplete ? null : { log: this.log, index: this.size }
  }

  get missing(): string {
    const last = Math.max(this.listed.lastSize, this.kept.lastSize)
    return `Log ${this.log} has ${last} entries, and ${this.size} are here: entry ${this.size} is the first that is missing.`
  }

  /**
   * Takes a checkpoint of the export.
   *
   * @throws LineError
   */
  expect(checkpoint: Checkpoint, line: number): void {
    const { size } = checkpoint
    if (size === 0) throw new LineError('The checkpoint has 0 entries. A server makes none of an empty log.')
    if (size < this.listed.lastSize)
      throw new LineError(`The checkpoint has ${size} entries, and one before it ${this.listed.lastSize}.`)
    this.listed.push(checkpoint, line)
  }

  /**
   * Takes the next entry, once all checkpoints are known.
   *
   * @throws LineError
   */
  add(entry: Pick<AuditEntry, 'id' | 'log' | 'index' | 'leaf'>): void {
    if (entry.index !== this.size)
      throw new LineError(`It is ${placeOf(entry)}, and entry ${this.size} of that log comes next.`, entry)
    if (this.isComplete) throw new LineError(`No checkpoint covers ${placeOf(entry)}.`, entry)
    const from = Math.max(this.listed.reachedSize, this.kept.reachedSize)
    this.#tree.append(bytesOfLeaf(entry.leaf))
    for (const expected of [this.listed, this.kept]) {
      const source = expected.contradictionOf(this.#tree)
      if (source !== null)
        throw new LineError(
          `Log ${this.log} is not that of ${source}: of its entries ${from} to ${entry.index} one was replaced.`,
          entry,
        )
    }
  }
}
