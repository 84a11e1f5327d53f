import type { AuditEntry, Checkpoints, DecisionDetail } from '@countersign/contract'
import { listCheckpoints, proveDecision } from '../../api/audit'
import { readJwks } from '../../api/jwks'
import type { Verdict } from '../../verifier/verify-entries'
import { differencesFromLog } from './log-comparison'

/** What was verified, exactly as it was shown, and what came of it. */
export interface Verification {
  readonly decision: DecisionDetail
  readonly entries: readonly AuditEntry[]
  /** One for each entry. */
  readonly verdicts: readonly Verdict[]
  /** What the page says otherwise than the entries. */
  readonly differences: readonly string[]
  readonly checkpoints: Checkpoints
}

/** Verifies what a page shows of a decision, in this browser. @throws ApiError, CannotVerifyError */
export async function verifyDecision(decision: DecisionDetail, entries: readonly AuditEntry[]): Promise<Verification> {
  const [{ verifyEntries }, proof, jwks] = await Promise.all([
    import('../../verifier/verify-entries'),
    proveDecision(decision.id),
    readJwks(),
  ])
  const verdicts = await verifyEntries(entries, proof, jwks)
  const differences = differencesFromLog(decision, entries)
  return { decision, entries, verdicts, differences, checkpoints: await listCheckpoints() }
}
