import { MerkleTree, parseCheckpoint, parseNote, type TreeState } from '@countersign/audit-log'
import type { RememberedTree, RememberedTrees } from '../../ports/checkpoint-memory.js'
import { type KeptTree, type KeptTrees, type SignedCheckpoint, textOf } from '../../use-cases/audit/trees.js'
import { RewrittenError } from './rewritten-error.js'

/** Converts the trees of a state to the form in which they are remembered. */
export function treesAsRemembered(stored: KeptTrees): RememberedTrees {
  return mapped(stored, (_, { tree }) => treeAs(tree))
}

/** Does the same for states that recur: parts that have not changed since the last one are not hashed again. */
export class TreeRoots {
  #known = new Map<string, Known>()

  /** @throws RewrittenError when a checkpoint that is stored with a tree belongs to another tree */
  ofSigned(stored: KeptTrees): RememberedTrees {
    const next = new Map<string, Known>()
    const trees = mapped(stored, (name, kept) => {
      const text = textOfKept(kept)
      const known = this.#known.get(name)
      const tree = known?.text === text ? known.tree : signedTreeOf(name, kept)
      next.set(name, { text, tree })
      return tree
    })
    this.#known = next
    return trees
  }
}

interface Known {
  readonly text: string
  readonly tree: RememberedTree
}

type Kept = KeptTree<SignedCheckpoint>

/** No log has this name. */
const ROOT = 'root'

function mapped({ logs, root }: KeptTrees, treeOf: (name: string, kept: Kept) => RememberedTree): RememberedTrees {
  return {
    root: { name: root.name, ...treeOf(ROOT, root) },
    logs: new Map(Object.entries(logs).map(([log, kept]) => [log, treeOf(log, kept)])),
  }
}

function treeAs(tree: TreeState): RememberedTree {
  return { size: tree.size, root: textOf(new MerkleTree(tree).root()) }
}

/** Returns everything that the root and the checkpoint depend on. */
function textOfKept({ tree: { size, hashes }, checkpoint }: Kept): string {
  return `${size} ${Buffer.concat(hashes).toString('latin1')} ${checkpoint?.note}`
}

function signedTreeOf(name: string, { tree, checkpoint }: Kept): RememberedTree {
  const made = treeAs(tree)
  if (checkpoint === null && tree.size === 0) return made
  const signed = checkpoint === null ? null : signedTree(checkpoint)
  if (signed !== null && isSame(signed, made)) return made
  throw new RewrittenError(`The stored checkpoint of ${named(name)} is not that of its tree.`)
}

function signedTree({ note }: SignedCheckpoint): RememberedTree | null {
  try {
    const { size, root } = parseCheckpoint(parseNote(note).text)
    return { size, root: textOf(root) }
  } catch {
    return null
  }
}

export function named(name: string): string {
  return name === ROOT ? 'the root log' : `log ${name}`
}

export function isSame(one: RememberedTree, other: RememberedTree): boolean {
  return one.size === other.size && one.root === other.root
}
