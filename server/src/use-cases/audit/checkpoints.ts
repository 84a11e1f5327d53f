import { consistencyProof, parseCheckpoint, parseNote, SIGNATURE_TYPES, verifierKey } from '@countersign/audit-log'
import type { Checkpoints, ConsistencyProof, RootCheckpoint } from '@countersign/contract'
import { DomainError, invalid } from '../../domain-error.js'
import type { Signer } from '../../ports/signer.js'
import { logTree, rootsOf, rootTree, type TreeReads } from './tree-hashes.js'
import { base64Of, hashOf, type KeptTrees, type SignedCheckpoint, TREES_READER, treesOf } from './trees.js'

export interface CheckpointsDeps {
  readonly store: TreeReads
  readonly signer: Pick<Signer, 'jwks'>
}

/**
 * Lists the newest signed checkpoint of each log and of the root log.
 *
 * @throws StoreUnavailableError
 */
export async function listCheckpoints({ store, signer }: CheckpointsDeps): Promise<Checkpoints> {
  const { logs, root } = await readTrees(store)
  return {
    data: Object.entries(logs).flatMap(([log, { checkpoint }]) =>
      checkpoint === null ? [] : [{ log, ...viewCheckpoint(checkpoint, signer), root_index: checkpoint.index }],
    ),
    root: root.checkpoint === null ? null : viewCheckpoint(root.checkpoint, signer),
  }
}

/**
 * Proves that the newest checkpoint of a log extends the tree of this size.
 *
 * @param log null for the root log
 * @throws DomainError not_found, validation_failed; StoreUnavailableError
 */
export async function proveConsistency(
  { store }: Pick<CheckpointsDeps, 'store'>,
  log: string | null,
  from: number,
): Promise<ConsistencyProof> {
  const { logs, root } = await readTrees(store)
  const checkpoint = log === null ? root.checkpoint : Object.hasOwn(logs, log) ? logs[log]?.checkpoint : null
  if (checkpoint === null || checkpoint === undefined)
    throw new DomainError('not_found', { detail: 'There is no checkpoint for this log.' })
  if (from > checkpoint.size)
    throw invalid([{ pointer: '/from', detail: `is larger than the newest checkpoint, which has ${checkpoint.size}` }])
  const tree = log === null ? rootTree(store, root) : logTree(store, root, log)
  const path = await rootsOf(store, tree, consistencyProof(from, checkpoint.size))
  return { log, from, path: path.map(base64Of), checkpoint: checkpoint.note }
}

export async function readTrees(store: Pick<TreeReads, 'readers'>): Promise<KeptTrees> {
  return treesOf((await store.readers.get(TREES_READER))?.state ?? {})
}

function viewCheckpoint({ note, created_at }: SignedCheckpoint, signer: Pick<Signer, 'jwks'>): RootCheckpoint {
  const { origin, size, root } = parseCheckpoint(parseNote(note).text)
  const verifier_keys = signer
    .jwks()
    .keys.map(({ x }) => verifierKey({ name: origin, type: SIGNATURE_TYPES.ed25519, publicKey: hashOf(x) }))
  return { origin, size, root: base64Of(root), created_at, note, verifier_keys }
}
