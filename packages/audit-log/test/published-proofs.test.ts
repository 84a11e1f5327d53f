/** The proofs that transparency logs have published for their shared leaves (RFC 6962), in hex. */
import {
  consistencyProof,
  inclusionProof,
  type LeafRange,
  ProofError,
  verifyConsistency,
  verifyInclusion,
} from '@countersign/audit-log'
import { describe, expect, it } from 'vitest'
import { PUBLISHED_LEAVES, PUBLISHED_ROOTS } from './published-tree.js'
import { leafOf, rootOfLeaves } from './reference-tree.js'

const LEAVES = PUBLISHED_LEAVES.map((leaf) => leafOf(Buffer.from(leaf, 'hex')))
const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))
const treeOf = (size: number) => ({ size, root: bytes(PUBLISHED_ROOTS[size - 1] as string) })
const hashOf = ({ from, to }: LeafRange) => Buffer.from(rootOfLeaves(LEAVES.slice(from, to))).toString('hex')

const OF_FIRST_IN_8 = [
  '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
  '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
  '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
]

describe('a published proof', () => {
  it.each<[index: number, size: number, proof: string[]]>([
    [0, 1, []],
    [0, 8, OF_FIRST_IN_8],
    [
      5,
      8,
      [
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
        'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
        'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      ],
    ],
    [2, 3, ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125']],
    [
      1,
      5,
      [
        '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      ],
    ],
  ])('of leaf %i in the tree of %i is made, and shows it', (index, size, proof) => {
    expect(inclusionProof(index, size).map(hashOf)).toEqual(proof)
    const leaf = LEAVES[index] as Uint8Array
    verifyInclusion({ leaf, index, size, proof: proof.map(bytes) }, treeOf(size).root)
  })

  it.each<[first: number, second: number, proof: string[]]>([
    [1, 1, []],
    [1, 8, OF_FIRST_IN_8],
    [
      6,
      8,
      [
        '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
        'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
        'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      ],
    ],
    [
      2,
      5,
      [
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      ],
    ],
    [
      6,
      7,
      [
        '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
        'b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f',
        'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      ],
    ],
  ])('that the tree of %i is the beginning of that of %i is made, and shows it', (first, second, proof) => {
    expect(consistencyProof(first, second).map(hashOf)).toEqual(proof)
    verifyConsistency(treeOf(first), treeOf(second), proof.map(bytes))
  })
})

describe('a proof of sizes that cannot be', () => {
  const some = bytes('abacaba000000000000000000000000000000000000000000060061e00123456')

  it.each([
    [0, 0],
    [1, 0],
    [2, 1],
  ])('shows nothing: leaf %i in a tree of %i', (index, size) => {
    for (const root of [some, treeOf(1).root, new Uint8Array()])
      for (const leaf of [some, new Uint8Array()])
        expect(() => verifyInclusion({ leaf, index, size, proof: [] }, root)).toThrow(ProofError)
  })

  it.each([
    ['a tree that became smaller', 2, 1, []],
    ['a tree that became empty', 1, 0, []],
    ['a tree that grew, without a proof', 1, 2, []],
    ['one tree with two roots', 1, 1, []],
    ['one tree with a proof', 1, 1, [some]],
    ['an empty tree with a proof', 0, 1, [some]],
  ])('shows nothing: %s', (_, first, second, proof) => {
    const roots = [some, treeOf(second || 1).root] as const
    expect(() => verifyConsistency({ size: first, root: roots[0] }, { size: second, root: roots[1] }, proof)).toThrow(
      ProofError,
    )
  })
})
