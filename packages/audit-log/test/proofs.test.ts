/** Proofs that are true, and every way to make them false that the shared test vectors of transparency logs have. */
import { describe, expect, it } from 'vitest'
import { consistencyProof, inclusionProof } from '#audit-log/proofs'
import { EMPTY_ROOT, type LeafRange } from '#audit-log/tree'
import { type Inclusion, ProofError, rootOfInclusion, verifyConsistency, verifyInclusion } from '#audit-log/verify'
import { leafOf, pathOf, proofOf, rootOfLeaves } from './reference-tree.js'

const MOST = 20
const LEAVES = Array.from({ length: MOST }, (_, i) => leafOf(Buffer.from(`leaf ${i}`)))
const treeOf = (size: number) => ({ size, root: rootOfLeaves(LEAVES.slice(0, size)) })
const hashOf = ({ from, to }: LeafRange) => rootOfLeaves(LEAVES.slice(from, to))
const OTHER = leafOf(Buffer.from('another leaf'))

/** With one bit changed. */
function flipped(hash: Uint8Array, bit = 3): Uint8Array {
  const copy = Uint8Array.from(hash)
  copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7))
  return copy
}

/** Proofs that are not this one. */
function* brokenProofs(proof: readonly Uint8Array[], ...roots: readonly Uint8Array[]): Generator<Uint8Array[]> {
  for (const i of proof.keys()) {
    yield proof.with(i, flipped(proof[i] as Uint8Array))
    yield proof.toSpliced(i, 1)
    yield proof.with(i, (proof[i] as Uint8Array).subarray(1))
  }
  for (const more of [...roots, OTHER, new Uint8Array(), new Uint8Array(32)]) {
    yield [more, ...proof]
    yield [...proof, more]
    yield proof.toSpliced(1, 0, more)
  }
  if (proof.length > 0) yield []
  if (proof.length > 1) yield proof.toReversed()
}

describe('the proof that a leaf is in a tree', () => {
  const everyCase = function* (): Generator<Inclusion & { root: Uint8Array }> {
    for (let size = 1; size <= MOST; size += 1)
      for (let index = 0; index < size; index += 1)
        yield {
          leaf: LEAVES[index] as Uint8Array,
          index,
          size,
          proof: inclusionProof(index, size).map(hashOf),
          root: treeOf(size).root,
        }
  }

  it('is that of the standard, and shows it', () => {
    for (const { root, ...inclusion } of everyCase()) {
      expect(inclusion.proof).toEqual(pathOf(inclusion.index, LEAVES.slice(0, inclusion.size)))
      verifyInclusion(inclusion, root)
      expect(rootOfInclusion(inclusion)).toEqual(root)
    }
  })

  it('shows nothing else: another leaf, place, size, root or proof', () => {
    let refused = 0
    for (const { root, ...inclusion } of everyCase()) {
      const { leaf, index, size, proof } = inclusion
      const wrong: [Inclusion, Uint8Array][] = [
        [{ ...inclusion, leaf: OTHER }, root],
        [{ ...inclusion, leaf: new Uint8Array() }, root],
        [inclusion, flipped(root)],
        [inclusion, OTHER],
        [inclusion, new Uint8Array()],
        [inclusion, EMPTY_ROOT],
        ...[index - 1, index + 1, index ^ 2, -1, size, index + 0.5, Number.NaN].map(
          (other): [Inclusion, Uint8Array] => [{ ...inclusion, index: other }, root],
        ),
        ...[size * 2, Math.floor(size / 2), 0, -size, 2 ** 53].map((other): [Inclusion, Uint8Array] => [
          { ...inclusion, size: other },
          root,
        ]),
        ...[...brokenProofs(proof, root, leaf)].map((other): [Inclusion, Uint8Array] => [
          { ...inclusion, proof: other },
          root,
        ]),
      ]
      for (const [one, of] of wrong) {
        expect(() => verifyInclusion(one, of), JSON.stringify({ index, size })).toThrow(ProofError)
        refused += 1
      }
    }
    expect(refused).toBeGreaterThan(4_000)
  })

  it('of a leaf that is not there is not made', () => {
    for (const [index, size] of [
      [0, 0],
      [3, 3],
      [-1, 3],
      [0.5, 3],
    ] as const)
      expect(() => inclusionProof(index, size)).toThrow(RangeError)
  })
})

describe('the proof that a tree is the beginning of another', () => {
  const everyCase = function* () {
    for (let second = 0; second <= MOST; second += 1)
      for (let first = 0; first <= second; first += 1)
        yield { first: treeOf(first), second: treeOf(second), proof: consistencyProof(first, second).map(hashOf) }
  }

  it('is that of the standard, and shows it', () => {
    for (const { first, second, proof } of everyCase()) {
      if (first.size > 0) expect(proof).toEqual(proofOf(first.size, LEAVES.slice(0, second.size)))
      verifyConsistency(first, second, proof)
    }
  })

  it('shows nothing else: another size, root or proof', () => {
    let refused = 0
    for (const { first, second, proof } of everyCase()) {
      const wrong: [typeof first, typeof second, readonly Uint8Array[]][] = [
        [{ ...first, root: flipped(first.root) }, second, proof],
        [{ ...first, root: new Uint8Array(31) }, second, proof],
        ...[...brokenProofs(proof, first.root, second.root)].map(
          (other): [typeof first, typeof second, readonly Uint8Array[]] => [first, second, other],
        ),
      ]
      if (first.size > 0) {
        wrong.push([first, { ...second, root: flipped(second.root) }, proof])
        for (const size of [first.size - 1, first.size + 1, first.size ^ 2, -1])
          if (size !== first.size) wrong.push([{ ...first, size }, second, proof])
      }
      if (first.size > 0 && first.size < second.size)
        wrong.push(
          [{ ...first, root: second.root }, { ...second, root: first.root }, proof],
          [first, { ...second, size: second.size * 2 }, proof],
          [first, { ...second, size: Math.floor(second.size / 2) }, proof],
          [second, first, proof],
        )
      for (const [one, other, given] of wrong) {
        const place = JSON.stringify([one.size, other.size, given.length])
        expect(() => verifyConsistency(one, other, given), place).toThrow(ProofError)
        refused += 1
      }
    }
    expect(refused).toBeGreaterThan(4_000)
  })

  it('of a larger tree is not made', () => {
    expect(() => consistencyProof(4, 3)).toThrow(RangeError)
    expect(() => consistencyProof(-1, 3)).toThrow(RangeError)
  })
})
