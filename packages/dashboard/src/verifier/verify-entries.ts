import { type Checkpoint, canonicalEntry, ProofError, verifyEntryProof } from '@countersign/audit-log'
import type { AuditEntry, DecisionProof, EntryProof, Jwks } from '@countersign/contract'
import { trustedKeys } from './ed25519'

/** Whether an entry is proved to be in the audit log, and if not, why not. */
export type Verdict =
  | {
      readonly isProved: true
      readonly entry: AuditEntry
      /** The checkpoint of the entry's log. */
      readonly checkpoint: Checkpoint
      /** The note of that checkpoint, as the server sent it. */
      readonly note: string
      /** The signed checkpoint of the root log, which covers the other. */
      readonly root: Checkpoint
    }
  | { readonly isProved: false; readonly entry: AuditEntry; readonly why: string }

/**
 * Verifies the entries that a page shows. A proof of a differing entry does not count.
 *
 * @param shown the entries with all their members
 * @param proof the server's proofs
 * @throws CannotVerifyError
 */
export function verifyEntries(shown: readonly AuditEntry[], proof: DecisionProof, jwks: Jwks): Promise<Verdict[]> {
  return Promise.all(
    shown.map(async (entry): Promise<Verdict> => {
      try {
        const proved = proofOf(entry, proof)
        const { log, root } = await verifyEntryProof(proved, trustedKeys(jwks))
        return { isProved: true, entry, checkpoint: log, note: proved.inclusion?.checkpoint ?? '', root }
      } catch (error) {
        if (!(error instanceof ProofError)) throw error
        return { isProved: false, entry, why: error.message }
      }
    }),
  )
}

/** @throws ProofError when there is no proof of exactly this entry */
function proofOf(entry: AuditEntry, { data }: DecisionProof): EntryProof {
  const proof = data.find((one) => one.entry.id === entry.id)
  if (proof === undefined) throw new ProofError('The server has no proof for this entry.')
  if (textOf(proof.entry) !== textOf(entry))
    throw new ProofError('The proof is for a different entry than the one shown here.')
  return proof
}

function textOf(entry: AuditEntry): string {
  return new TextDecoder().decode(canonicalEntry(entry))
}
