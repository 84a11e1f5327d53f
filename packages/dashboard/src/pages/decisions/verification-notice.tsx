import type { Checkpoints } from '@countersign/contract'
import { Text } from '@mantine/core'
import { visibleText } from '../../components/invisible'
import { Notice } from '../../components/notice'
import { At } from '../../components/time'
import type { Verdict } from '../../verifier/verify-entries'
import type { Verification } from './verification'

/** What the verification of a decision's entries came to. */
export function VerificationNotice({ verification }: { readonly verification: Verification }) {
  const { verdicts, differences, checkpoints } = verification
  const proved = verdicts.filter((verdict) => verdict.isProved)
  if (proved.length < verdicts.length || proved.length === 0)
    return (
      <Notice kind="error" title={`Not proved: ${verdicts.length - proved.length} of ${entriesText(verdicts.length)}`}>
        <Text size="sm">
          The server does not show that they are in the audit log as they are shown here. The list below says why. If it
          stays so, export the log and verify it with the command line.
        </Text>
      </Notice>
    )
  if (differences.length > 0)
    return (
      <Notice kind="error" title="The entries are proved, and this page says something else">
        <Text size="sm">The decision that is stored and its audit log differ in: {differences.join(', ')}.</Text>
      </Notice>
    )
  const under = new Map(proved.map((verdict) => [verdict.note, verdict]))
  return (
    <Notice kind="success" title={`Proved: ${entriesText(verdicts.length)} in the audit log`}>
      {[...under.values()].map((verdict) => (
        <Under key={verdict.note} verdict={verdict} checkpoints={checkpoints} />
      ))}
      <Text size="sm" mt={4}>
        Verified in this browser with the public keys of the server, and the effect, action, agent and status above
        agree with the entries. It does not cover the request: the log has only a salted hash of it.
      </Text>
    </Notice>
  )
}

interface UnderProps {
  readonly verdict: Extract<Verdict, { isProved: true }>
  readonly checkpoints: Checkpoints
}

/** A checkpoint has no time itself. The server tells that of the newest one. */
function Under({ verdict: { note, checkpoint, root }, checkpoints }: UnderProps) {
  const made = checkpoints.data.find((one) => one.note === note)?.created_at
  return (
    <Text size="sm">
      Checkpoint <span className="mono">{visibleText(checkpoint.origin)}</span>: {checkpoint.size} entries
      {made !== undefined && (
        <>
          , made at <At at={made} />
        </>
      )}
      . The signed root log has it among {root.size} checkpoints.
    </Text>
  )
}

function entriesText(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`
}
