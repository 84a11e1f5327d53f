import { describe, expect, it } from 'vitest'
import { EMPTY_ROOT, MerkleTree, perfectNodesOf, rootOf } from '#audit-log/tree'
import { PUBLISHED_LEAVES, PUBLISHED_ROOTS } from './published-tree.js'
import { leafOf, rootOfLeaves } from './reference-tree.js'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const leafAt = (i: number) => leafOf(Buffer.from(`leaf ${i}`))

describe('the tree', () => {
  it('without leaves has the hash of nothing as its root', () => {
    expect(hex(EMPTY_ROOT)).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    expect(new MerkleTree().root()).toEqual(EMPTY_ROOT)
  })

  it('has the published roots', () => {
    const tree = new MerkleTree()
    const roots = PUBLISHED_LEAVES.map((leaf) => {
      tree.append(leafOf(Buffer.from(leaf, 'hex')))
      return hex(tree.root())
    })
    expect(roots).toEqual(PUBLISHED_ROOTS)
  })

  it('has the root that the recursion of the standard has, whatever its size, and goes on from its state', () => {
    const leaves: Uint8Array[] = []
    let tree = new MerkleTree()
    for (let size = 1; size <= 130; size += 1) {
      leaves.push(leafAt(size))
      tree.append(leafAt(size))
      expect(hex(tree.root()), `${size} leaves`).toBe(hex(rootOfLeaves(leaves)))
      expect(tree.state.hashes).toHaveLength([...size.toString(2)].filter((digit) => digit === '1').length)
      tree = new MerkleTree(structuredClone(tree.state))
    }
  })

  it('tells each perfect node once, when its last leaf comes', () => {
    const leaves: Uint8Array[] = []
    const nodes = new Map<string, Uint8Array>()
    const tree = new MerkleTree()
    for (let i = 0; i < 100; i += 1) {
      leaves.push(leafAt(i))
      for (const { level, index, hash } of tree.append(leafAt(i))) {
        expect(nodes.has(`${level} ${index}`)).toBe(false)
        nodes.set(`${level} ${index}`, hash)
        const width = 2 ** level
        expect(hex(hash)).toBe(hex(rootOfLeaves(leaves.slice(index * width, (index + 1) * width))))
      }
    }
    expect(nodes.size).toBe(100 + 50 + 25 + 12 + 6 + 3 + 1)
    for (let from = 0; from < 100; from += 7)
      for (let to = from + 1; to <= 100; to += 5) {
        const parts = perfectNodesOf({ from, to })
        expect(parts.reduce((sum, { level }) => sum + 2 ** level, 0)).toBe(to - from)
        const isSubtree = from % 2 ** Math.ceil(Math.log2(to - from)) === 0
        const root = rootOf(parts.map(({ level, index }) => nodes.get(`${level} ${index}`) as Uint8Array))
        if (isSubtree) expect(hex(root)).toBe(hex(rootOfLeaves(leaves.slice(from, to))))
      }
  })

  it.each([
    [{ size: 3, hashes: [leafAt(0)] }, 'A tree of 3 leaves has 2 hashes, not 1.'],
    [{ size: -1, hashes: [] }, '-1 is not the size of a tree.'],
    [{ size: 2 ** 53, hashes: [] }, `${2 ** 53} is not the size of a tree.`],
  ])('does not go on from a state that is none: %o', (state, message) => {
    expect(() => new MerkleTree(state)).toThrow(message)
  })

  it('takes hashes alone as leaves', () => {
    expect(() => new MerkleTree().append(Buffer.from('leaf'))).toThrow('A hash has 32 bytes, not 4.')
  })
})
