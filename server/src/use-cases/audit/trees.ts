/** The Merkle trees of the logs, as the feed keeps them: one for each log, and the root log over their checkpoints. */
import type { Hash, TreeState } from '@countersign/audit-log'
import type { JsonObject } from '@countersign/contract'

/** The name of the reader that keeps the trees. */
export const TREES_READER = 'trees'

/** The tree whose leaves are the checkpoints of all logs, in the order in which they were made. */
export const ROOT_TREE = 'root'

/** Nodes are stored from this level up. Lower ones are computed from the leaves when needed. */
export const STORED_LEVEL = 8
export const BLOCK = 2 ** STORED_LEVEL

export function treeOf(log: string): string {
  return `log/${log}`
}

/** The origin line of a tree's checkpoints: in the form of a C2SP origin, without scheme, space or plus. */
export function originOf(issuer: string, tree: string): string {
  const place = issuer.replace(/^[a-z]+:\/\//i, '').replace(/\/+$/, '')
  return `${place}/${tree}`.replace(/[\s+]/gu, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** A signed checkpoint without its origin and root, which are in the note. */
export interface SignedCheckpoint {
  readonly size: number
  readonly created_at: string
  readonly note: string
}

export interface LogCheckpoint extends SignedCheckpoint {
  /** Its position in the root log. */
  readonly index: number
}

/** A tree, and its newest checkpoint; null before the first one. */
export interface KeptTree<Signed extends SignedCheckpoint> {
  readonly tree: TreeState
  readonly checkpoint: Signed | null
}

/** Where the store keeps the root log and the nodes of all trees. */
export interface RootPlace {
  /** The name in the origin: `root`, or `root.<name>` after a restore or an accepted rewrite. */
  readonly name: string
  /** The index of its first leaf among the stored checkpoints. */
  readonly base: number
  /** The prefix of the names of the trees of stored nodes. */
  readonly nodes: string
}

/** All trees as of one save of the reader. */
export interface KeptTrees {
  readonly logs: Readonly<Record<string, KeptTree<LogCheckpoint>>>
  readonly root: KeptTree<SignedCheckpoint> & RootPlace
}

const FIRST_ROOT: RootPlace = { name: ROOT_TREE, base: 0, nodes: '' }

export function stateOf({ logs, root }: KeptTrees): JsonObject {
  const written = ({ tree: { size, hashes }, checkpoint }: KeptTree<SignedCheckpoint>) => {
    return { size, hashes: hashes.map(textOf), checkpoint } as unknown as JsonObject
  }
  return {
    logs: Object.fromEntries(Object.entries(logs).map(([log, kept]) => [log, written(kept)])),
    root: { ...(written(root) as object), name: root.name, base: root.base, nodes: root.nodes } as JsonObject,
  }
}

/** @param state of the reader; `{}` before its first save */
export function treesOf(state: JsonObject): KeptTrees {
  const { logs = {}, root = { size: 0, hashes: [], checkpoint: null } } = state as unknown as Partial<State>
  return {
    logs: Object.fromEntries(Object.entries(logs).map(([log, kept]) => [log, keptOf(kept)])),
    // The state of an older release lacks these members.
    root: { ...keptOf(root), name: root.name ?? FIRST_ROOT.name, base: root.base ?? 0, nodes: root.nodes ?? '' },
  }
}

interface Written<Signed> {
  readonly size: number
  readonly hashes: readonly string[]
  readonly checkpoint: Signed | null
}

interface State {
  readonly logs: Readonly<Record<string, Written<LogCheckpoint>>>
  readonly root: Written<SignedCheckpoint> & Partial<RootPlace>
}

function keptOf<Signed extends SignedCheckpoint>({ size, hashes, checkpoint }: Written<Signed>): KeptTree<Signed> {
  return { tree: { size, hashes: hashes.map(hashOf) }, checkpoint }
}

/** A hash as it is stored. */
export function textOf(hash: Hash): string {
  return Buffer.from(hash).toString('base64url')
}

/** A hash as C2SP proofs write it. */
export function base64Of(hash: Hash): string {
  return Buffer.from(hash).toString('base64')
}

export function hashOf(text: string): Hash {
  return new Uint8Array(Buffer.from(text, 'base64url'))
}
