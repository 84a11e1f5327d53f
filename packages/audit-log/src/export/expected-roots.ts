/** The roots that one log must have at its sizes, according to checkpoints. */
import { HASH_BYTES, type Hash, type MerkleTree } from '../tree.js'
import { isSameHash } from '../verify.js'

/** For each checkpoint: its size and its number, 8 bytes each, and its root. */
const NUMBER_AT = 8
const ROOT_AT = 16
const RECORD_BYTES = ROOT_AT + HASH_BYTES

/** An export of months has millions of them: each takes 48 bytes, with at most the same number of unused places. */
export class ExpectedRoots {
  #records = new DataView(new ArrayBuffer(0))
  #count = 0
  /** How many of them a tree was compared with. */
  #reached = 0

  /** @param sourceOf describes, for a person, the checkpoint with this number */
  constructor(private readonly sourceOf: (number: number) => string) {}

  /** The size of the newest; 0 when there is none. */
  get lastSize(): number {
    return this.#count === 0 ? 0 : this.#sizeOf(this.#count - 1)
  }

  get areReached(): boolean {
    return this.#reached === this.#count
  }

  /** The size of the last one that a tree was compared with; 0 when there is none. */
  get reachedSize(): number {
    return this.#reached === 0 ? 0 : this.#sizeOf(this.#reached - 1)
  }

  /** The first one that no tree was compared with. */
  get next(): { readonly size: number; readonly source: string } | null {
    return this.areReached ? null : { size: this.#sizeOf(this.#reached), source: this.#sourceOf(this.#reached) }
  }

  /** Adds checkpoints in the order of their sizes, starting at 1. */
  push({ size, root }: { readonly size: number; readonly root: Hash }, number: number): void {
    if (this.#bytes.length === this.#count * RECORD_BYTES) this.#grow()
    const at = this.#count * RECORD_BYTES
    this.#records.setFloat64(at, size)
    this.#records.setFloat64(at + NUMBER_AT, number)
    this.#bytes.set(root, at + ROOT_AT)
    this.#count += 1
  }

  /**
   * Compares a tree with the checkpoints of its size. Must be called with every size that the tree grows to.
   *
   * @returns the source of a checkpoint with another root; null when there is none
   */
  contradictionOf(tree: MerkleTree): string | null {
    for (; !this.areReached && this.#sizeOf(this.#reached) === tree.size; this.#reached += 1)
      if (!isSameHash(this.#rootOf(this.#reached), tree.root())) return this.#sourceOf(this.#reached)
    return null
  }

  get #bytes(): Uint8Array {
    return new Uint8Array(this.#records.buffer)
  }

  #sizeOf(i: number): number {
    return this.#records.getFloat64(i * RECORD_BYTES)
  }

  #sourceOf(i: number): string {
    return this.sourceOf(this.#records.getFloat64(i * RECORD_BYTES + NUMBER_AT))
  }

  #rootOf(i: number): Hash {
    const at = i * RECORD_BYTES + ROOT_AT
    return this.#bytes.subarray(at, at + HASH_BYTES)
  }

  #grow(): void {
    const larger = new Uint8Array(Math.max(1, 2 * this.#count) * RECORD_BYTES)
    larger.set(this.#bytes)
    this.#records = new DataView(larger.buffer)
  }
}
