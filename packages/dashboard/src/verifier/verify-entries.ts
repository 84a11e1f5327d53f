import { type Checkpoint, canonicalEntry, ProofError, verifyEntryProof } from '@countersign/audit-log'
import type { AuditEntry, DecisionProof, EntryProof, Jwks } from '@countersign/contract'
import { trustedKeys } from './ed25519'

/** Whether an entry is proved to be in the audit log, and if not, why. */
export type Verdict =
  | {
      readonly isProved: true
      readonly entry: AuditEntry
      /** Of the entry's log. */
      readonly checkpoint: Checkpoint
      /** As the server sent it. */
      readonly note: string
      /** The signed one, which covers the other. */
      readonly root: Checkpoint
    }
  | { readonly isProved: false; readonly entry: AuditEntry; readonly why: string }

/**
 * Verifies entries as a page shows them: a proof of anything else is no proof of them.
 *
 * @param shown by the page, all members
 * @param proof from the server
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

/** @throws ProofError when there is none of exactly this entry */
function proofOf(entry: AuditEntry, { data }: DecisionProof): EntryProof {
  const proof = data.find((one) => one.entry.id === entry.id)
  if (proof === undefined) throw new ProofError('The server has no proof of it.')
  if (textOf(proof.entry) !== textOf(entry))
    throw new ProofError('The proof is of another entry than the one that is shown here.')
  return proof
}

function textOf(entry: AuditEntry): string {
  return new TextDecoder().decode(canonicalEntry(entry))
}
