/** Decides whether the trees in the store extend the checkpoints that this server has signed or seen. */
import {
  consistencyProof,
  NoteError,
  ProofError,
  parseCheckpoint,
  parseNote,
  rootOfOrigin,
  verifyConsistency,
  verifyNoteByKeys,
} from '@countersign/audit-log'
import type { Remembered, RememberedTree, RememberedTrees } from '../../ports/checkpoint-memory.js'
import { logTree, rootsOf, rootTree, type StoredTree, type TreeReads } from '../../use-cases/audit/tree-hashes.js'
import { hashOf, type KeptTrees, textOf } from '../../use-cases/audit/trees.js'
import { verifyEd25519 } from '../../use-cases/audit/verify-ed25519.js'
import { RewrittenError } from './rewritten-error.js'
import { isSame, named, TreeRoots } from './tree-roots.js'

/**
 * `same`: as remembered. `ahead`: they extend what is remembered. `unsaved`: the checkpoints that were about to be
 * signed last are missing; the trees are as before them.
 */
export type GoingOn = 'same' | 'ahead' | 'unsaved'

type Known = Extract<Remembered, { readonly kind: 'trees' }>

/** The public keys, in base64url, with which this server, or another one on the store, may have signed checkpoints. */
export type CheckpointKeys = () => Promise<readonly string[]>

/** @throws RewrittenError; MissingHashError when a hash that the proof needs is missing; StoreUnavailableError */
export async function goingOn(
  reads: TreeReads,
  stored: KeptTrees,
  remembered: Known,
  keys: CheckpointKeys,
  roots = new TreeRoots(),
): Promise<GoingOn> {
  const now = roots.ofSigned(stored)
  const { unsaved } = remembered
  if (unsaved !== null && isBefore(now, remembered)) {
    await assertLogs(reads, stored, now, remembered.logs)
    return 'unsaved'
  }
  if (remembered.givenUp.includes(now.root.name))
    throw new RewrittenError(
      `The root log ${now.root.name} reappeared, but this server has signed ${remembered.root.name} since.`,
    )
  if (now.root.name !== remembered.root.name)
    throw new RewrittenError(`The root log is ${now.root.name}, and this server has signed ${remembered.root.name}.`)
  if (![remembered.root, unsaved?.root].some((known) => known !== undefined && isSame(now.root, known)))
    await assertSignedByServer(stored.root, keys)
  if (unsaved !== null) {
    // Another server may have signed others in their place, because these were never shown.
    const isThere = await isProven(reads, rootTree(reads, stored.root), unsaved.root, now.root)
    if (isThere) await assertLogs(reads, stored, now, new Map([...remembered.logs, ...treesOfUnsaved(unsaved)]))
    if (isThere) return 'ahead'
  }
  await assertRoot(reads, stored, now, remembered)
  await assertLogs(reads, stored, now, remembered.logs)
  return isSame(now.root, remembered.root) && unsaved === null ? 'same' : 'ahead'
}

/**
 * Whether the trees are as before the checkpoints that were about to be signed, which may begin a root log of another
 * name.
 */
function isBefore(now: RememberedTrees, { root, unsaved }: Known): boolean {
  const [first] = unsaved?.checkpoints ?? []
  const former = first === undefined ? null : rootOfOrigin(parseCheckpoint(parseNote(first.note).text).origin)
  return isSame(now.root, root) && (now.root.name === root.name || now.root.name === former)
}

function treesOfUnsaved({ checkpoints }: NonNullable<Known['unsaved']>): (readonly [string, RememberedTree])[] {
  return checkpoints.flatMap(({ log, note }) => {
    const { origin, size, root } = parseCheckpoint(parseNote(note).text)
    return rootOfOrigin(origin) === null ? [[log, { size, root: textOf(root) }] as const] : []
  })
}

/** Checks the checkpoints that this server has not signed itself. @throws RewrittenError */
async function assertSignedByServer(
  { name, checkpoint }: Pick<KeptTrees['root'], 'name' | 'checkpoint'>,
  keys: CheckpointKeys,
): Promise<void> {
  if (checkpoint === null) return
  const note = parseNote(checkpoint.note)
  const isOfRoot = rootOfOrigin(parseCheckpoint(note.text).origin) === name
  const publicKeys = isOfRoot ? (await keys()).map(hashOf) : []
  await verifyNoteByKeys(note, publicKeys, verifyEd25519).catch((error) => {
    if (!(error instanceof NoteError)) throw error
    throw new RewrittenError(
      `The stored checkpoint of the root log at ${checkpoint.size} is not signed by a key of this server or of one that shares the store.`,
    )
  })
}

async function assertRoot(reads: TreeReads, stored: KeptTrees, now: RememberedTrees, { root }: Known): Promise<void> {
  if (await isProven(reads, rootTree(reads, stored.root), root, now.root)) return
  throw new RewrittenError(differenceOf('root', root, now.root))
}

async function assertLogs(
  reads: TreeReads,
  stored: KeptTrees,
  now: RememberedTrees,
  logs: ReadonlyMap<string, RememberedTree>,
): Promise<void> {
  for (const [log, tree] of logs) {
    const found = now.logs.get(log)
    if (found === undefined || !(await isProven(reads, logTree(reads, stored.root, log), tree, found)))
      throw new RewrittenError(differenceOf(log, tree, found))
  }
}

function differenceOf(name: string, known: RememberedTree, found: RememberedTree | undefined): string {
  const signed = `This server has signed or seen ${known.size} entries of ${named(name)}`
  if (found === undefined || found.size < known.size) return `${signed}, but the store has ${found?.size ?? 0}.`
  return `${signed}, but the ${found.size} in the store do not continue from them.`
}

/** Whether the second tree is proven to extend the first. */
async function isProven(
  reads: TreeReads,
  tree: StoredTree,
  first: RememberedTree,
  second: RememberedTree,
): Promise<boolean> {
  if (first.size >= second.size) return isSame(first, second)
  const proof = await rootsOf(reads, tree, consistencyProof(first.size, second.size))
  try {
    verifyConsistency(
      { size: first.size, root: hashOf(first.root) },
      { size: second.size, root: hashOf(second.root) },
      proof,
    )
    return true
  } catch (error) {
    if (error instanceof ProofError) return false
    throw error
  }
}
