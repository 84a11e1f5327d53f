import { inclusionProof, proofFileText } from '@countersign/audit-log'
import type { AuditEntry, DecisionProof, EntryProof, InclusionProof } from '@countersign/contract'
import type { Store } from '@countersign/store-port/store'
import { DomainError } from '../../domain-error.js'
import { readTrees } from './checkpoints.js'
import { logTree, rootsOf, rootTree, type StoredTree, type TreeReads } from './tree-hashes.js'
import { base64Of, type KeptTrees } from './trees.js'

export interface ProofDeps {
  readonly store: Pick<Store, 'listAuditEntries'> & { readonly feed: TreeReads }
  /** Waits until every entry that is durable now is under a checkpoint, or for as long as the caller may wait. */
  readonly catchUp: (isDone: () => Promise<boolean>) => Promise<void>
}

/** A decision has a handful. */
const ENTRIES = 100

/**
 * Proves that the entries of a decision are in the audit log, each under the newest checkpoint of its log, and that checkpoint
 * under the newest one of the root log.
 *
 * @throws DomainError not_found, StoreUnavailableError
 */
export async function proveDecision({ store, catchUp }: ProofDeps, decisionId: string): Promise<DecisionProof> {
  const { items } = await store.listAuditEntries({ subject: decisionId }, { limit: ENTRIES, after: null })
  if (items.length === 0) throw new DomainError('not_found')
  const isCovered = async () => {
    const trees = await readTrees(store.feed)
    return items.every(({ log, index }) => index < sizeOf(trees, log))
  }
  if (!(await isCovered())) await catchUp(isCovered)
  const trees = await readTrees(store.feed)
  const data = await Promise.all(items.toReversed().map((entry) => proveEntry(store.feed, trees, entry)))
  return { decision_id: decisionId, data }
}

function sizeOf({ logs }: KeptTrees, log: string): number {
  return logs[log]?.checkpoint?.size ?? 0
}

async function proveEntry(feed: TreeReads, { logs, root }: KeptTrees, entry: AuditEntry): Promise<EntryProof> {
  const checkpoint = logs[entry.log]?.checkpoint ?? null
  if (checkpoint === null || root.checkpoint === null || entry.index >= checkpoint.size)
    return { entry, inclusion: null, checkpoint_inclusion: null }
  return {
    entry,
    inclusion: await prove(feed, logTree(feed, entry.log), entry.index, checkpoint),
    checkpoint_inclusion: await prove(feed, rootTree(feed), checkpoint.index, root.checkpoint),
  }
}

async function prove(
  feed: TreeReads,
  tree: StoredTree,
  index: number,
  { size, note }: { readonly size: number; readonly note: string },
): Promise<InclusionProof> {
  const proof = await rootsOf(feed, tree, inclusionProof(index, size))
  return {
    index,
    path: proof.map(base64Of),
    checkpoint: note,
    proof: proofFileText({ index, proof, checkpoint: note }),
  }
}
