/** The entries of one log of an export, against its checkpoints. */
import type { AuditEntry } from '@countersign/contract'
import { bytesOfLeaf } from '../leaf.js'
import { type Hash, MerkleTree } from '../tree.js'
import { isSameHash } from '../verify.js'
import { LineError, placeOf } from './line.js'

/** A place in a log. */
export interface ExportPlace {
  readonly log: string
  readonly index: number
}

/** What the root of a log has to be at a size. */
export interface Expected {
  readonly size: number
  readonly root: Hash
  /** For a person: which checkpoint says so. */
  readonly source: string
}

export class LogVerifier {
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

  /** The place of the entry that comes next; null when all are there. */
  get next(): ExportPlace | null {
    return this.isComplete ? null : { log: this.log, index: this.size }
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
      throw new LineError(`It is ${placeOf(entry)}, and entry ${this.size} of that log comes next.`, entry.id)
    if (this.isComplete) throw new LineError(`No checkpoint covers ${placeOf(entry)}.`, entry.id)
    this.#tree.append(bytesOfLeaf(entry.leaf))
    const from = this.#expected[this.#reached - 1]?.size ?? 0
    for (let next = this.#expected[this.#reached]; next?.size === this.size; next = this.#expected[this.#reached]) {
      if (!isSameHash(next.root, this.#tree.root()))
        throw new LineError(
          `Log ${this.log} is not that of ${next.source}: of its entries ${from} to ${this.size - 1} one was replaced.`,
          entry.id,
        )
      this.#reached += 1
    }
  }
}
