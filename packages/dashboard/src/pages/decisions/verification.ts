import type { AuditEntry, Checkpoints, DecisionDetail } from '@countersign/contract'
import { listCheckpoints, proveDecision, readDecisionRecord } from '../../api/audit'
import { readJwks } from '../../api/jwks'
import type { DecisionComparison } from '../../verifier/compare-decision'
import type { Verdict } from '../../verifier/verify-entries'

/** What was verified, exactly as shown, and the result. */
export interface Verification {
  readonly decision: DecisionDetail | null
  readonly entries: readonly AuditEntry[]
  /** One for each entry. */
  readonly verdicts: readonly Verdict[]
  readonly comparison: DecisionComparison
  readonly checkpoints: Checkpoints
}

/**
 * Verifies in this browser what a page shows about a decision.
 *
 * @param decision null when the page shows that there is no record
 * @throws ApiError, CannotVerifyError
 */
export async function verifyDecision(
  id: string,
  decision: DecisionDetail | null,
  entries: readonly AuditEntry[],
): Promise<Verification> {
  const [{ verifyEntries }, { compareDecision }, proof, held, jwks] = await Promise.all([
    import('../../verifier/verify-entries'),
    import('../../verifier/compare-decision'),
    proveDecision(id),
    readDecisionRecord(id),
    readJwks(),
  ])
  const verdicts = await verifyEntries(entries, proof, jwks)
  const comparison = compareDecision(id, decision, held, entries, new Date().toISOString())
  return { decision, entries, verdicts, comparison, checkpoints: await listCheckpoints() }
}
