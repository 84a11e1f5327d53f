import { inclusionProof, proofFileText } from '@countersign/audit-log'
import type { AuditEntry, DecisionProof, EntryProof, InclusionProof } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { Store } from '../../ports/store/store.js'
import { readTrees } from './checkpoints.js'
import type { ExportDeps } from './export.js'
import { logTree, rootsOf, rootTree, type StoredTree, type TreeReads } from './tree-hashes.js'
import { base64Of, type KeptTrees } from './trees.js'

export interface ProofDeps extends ExportDeps {
  readonly store: Pick<Store, 'audit'> & TreeReads
}

/** A decision has only a few entries. */
const ENTRIES = 100

/**
 * Proves that the entries of a decision are in the audit log: each is covered by the newest checkpoint of its log, and
 * that checkpoint by the newest checkpoint of the root log.
 *
 * @throws DomainError not_found, StoreUnavailableError
 */
export async function proveDecision({ store, catchUp }: ProofDeps, decisionId: string): Promise<DecisionProof> {
  const { items } = await store.audit.list({ subject: decisionId }, { limit: ENTRIES, after: null })
  if (items.length === 0) throw new DomainError('not_found')
  const isCovered = async () => {
    const trees = await readTrees(store)
    return items.every(({ log, index }) => index < sizeOf(trees, log))
  }
  if (!(await isCovered())) await catchUp(isCovered)
  const trees = await readTrees(store)
  const data = await Promise.all(items.toReversed().map((entry) => proveEntry(store, trees, entry)))
  return { decision_id: decisionId, data }
}

function sizeOf({ logs }: KeptTrees, log: string): number {
  return logs[log]?.checkpoint?.size ?? 0
}

async function proveEntry(store: TreeReads, { logs, root }: KeptTrees, entry: AuditEntry): Promise<EntryProof> {
  const checkpoint = logs[entry.log]?.checkpoint ?? null
  if (checkpoint === null || root.checkpoint === null || entry.index >= checkpoint.size)
    return { entry, inclusion: null, checkpoint_inclusion: null }
  return {
    entry,
    inclusion: await prove(store, logTree(store, root, entry.log), entry.index, checkpoint),
    checkpoint_inclusion: await prove(store, rootTree(store, root), checkpoint.index, root.checkpoint),
  }
}

async function prove(
  store: TreeReads,
  tree: StoredTree,
  index: number,
  { size, note }: { readonly size: number; readonly note: string },
): Promise<InclusionProof> {
  const proof = await rootsOf(store, tree, inclusionProof(index, size))
  return {
    index,
    path: proof.map(base64Of),
    checkpoint: note,
    proof: proofFileText({ index, proof, checkpoint: note }),
  }
}
