import type { Checkpoints } from '@countersign/contract'
import { Text } from '@mantine/core'
import { DifferenceList } from '../../components/difference-list'
import { visibleText } from '../../components/invisible'
import { Notice } from '../../components/notice'
import { At } from '../../components/time'
import type { RecordDifference } from '../../verifier/compare-decision'
import type { Verdict } from '../../verifier/verify-entries'
import type { Verification } from './verification'

/** The result of verifying a decision's entries. */
export function VerificationNotice({ verification }: { readonly verification: Verification }) {
  const { verdicts, comparison, checkpoints } = verification
  const { differences, unbound } = comparison
  const proved = verdicts.filter((verdict) => verdict.isProved)
  if (proved.length < verdicts.length || proved.length === 0)
    return (
      <Notice kind="error" title={`Not proved: ${verdicts.length - proved.length} of ${entriesText(verdicts.length)}`}>
        <Text size="sm">
          The server did not prove that these entries are in the audit log as shown here. The list below gives the
          reasons. If this persists, export the log and verify it on the command line.
        </Text>
      </Notice>
    )
  if (differences.length > 0)
    return (
      <Notice kind="error" title={differenceTitle(differences)}>
        <Text size="sm">{differenceText(differences)}</Text>
        <DifferenceList differences={differences} inWords={inWords} />
      </Notice>
    )
  const under = new Map(proved.map((verdict) => [verdict.note, verdict]))
  return (
    <Notice kind="success" title={`Proved: ${entriesText(verdicts.length)} in the audit log`}>
      {[...under.values()].map((verdict) => (
        <Under key={verdict.note} verdict={verdict} checkpoints={checkpoints} />
      ))}
      <Text size="sm" mt={4}>
        Verified in this browser with the server’s public keys. The decision, request, review and outcome on this page
        match the entries.
      </Text>
      {unbound.length > 0 && (
        <Text size="sm" mt={4}>
          Some entries were written by an older release and do not cover: {unbound.join(', ')}.
        </Text>
      )}
    </Notice>
  )
}

interface UnderProps {
  readonly verdict: Extract<Verdict, { isProved: true }>
  readonly checkpoints: Checkpoints
}

/** A checkpoint contains no time. The server says when the newest one was made. */
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

/** What each hash in the log covers. */
const HASHED: Readonly<Record<string, string>> = {
  request: 'the request: its context, resource, action and agent differ from the original request',
  details: 'the reason, advice, shadow policies, time, request id or holder differ from the original decision',
}

function isOnlyBetweenEntries(differences: readonly RecordDifference[]): boolean {
  return differences.every(({ later_entry }) => later_entry !== null)
}

function differenceTitle(differences: readonly RecordDifference[]): string {
  return isOnlyBetweenEntries(differences)
    ? 'The entries are proved, but they do not follow from each other'
    : 'The entries are proved, but this page differs from them'
}

function differenceText(differences: readonly RecordDifference[]): string {
  return isOnlyBetweenEntries(differences)
    ? 'The stored decision was edited, and a later entry repeats the edit:'
    : 'The stored decision differs from its audit log:'
}

function inWords({ member, logged, stored, entry, later_entry }: RecordDifference): string {
  if (later_entry !== null)
    return `${member}: ${JSON.stringify(logged)} after entry ${entry?.index}, but ${later_entry.type} (entry ${later_entry.index}) may not change it to ${JSON.stringify(stored)}`
  if (member === null && stored === null)
    return `there is no record, but the log has ${entriesText(Number(logged))} about it`
  if (member === null) return 'there is a record, but its first entry is missing from the log'
  return HASHED[member] ?? `${member}: ${JSON.stringify(logged)} in the log, but ${JSON.stringify(stored)} here`
}

function entriesText(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`
}
