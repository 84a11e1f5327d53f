import { type EntryPlace, isSecret, type RecordDifference } from '@countersign/audit-log'
import { ExportGapError } from '../../../use-cases/audit/export.js'
import { notAddedUpText } from '../balances.js'
import { counted, type Finding, findingOf } from '../verdict.js'
import type { VerifyLinesOptions } from '../verify-lines.js'
import { checkRound, type RoundResult } from './check-round.js'
import type { RecordSource } from './record-source.js'

/** How often everything is compared at most when accounts differ, because they change while they are read. */
const ROUNDS = 3
/** The maximum length of a value for a person. */
const SHOWN_CHARACTERS = 200

/** Compares the stored records with the log, which is verified first. */
export async function verifyRecords(source: RecordSource, options: VerifyLinesOptions): Promise<Finding> {
  try {
    let result = await checkRound(source, options)
    for (let round = 2; result.isDoubtful && round <= ROUNDS; round += 1) result = await checkRound(source, options)
    return findingFrom(result)
  } catch (error) {
    const finding = error instanceof ExportGapError ? gapFinding(error) : findingOf(error)
    return { ...finding, lines: [...finding.lines, 'The log itself is faulty, so no records were compared with it.'] }
  }
}

function gapFinding({ message }: ExportGapError): Finding {
  return { result: 'incomplete', lines: [message] }
}

function findingFrom(result: RoundResult): Finding {
  const { verified, compared, differences, differenceCount, unbound, notAddedUp, removed, later, uncovered } = result
  const entries = [...verified.logs.values()].reduce((sum, size) => sum + size, 0)
  const log = `${counted(entries, 'entry', 'entries')} of ${counted(verified.logs.size, 'log')}`
  const numbers = Object.entries(compared).map(([kind, count]) => counted(count, kind, PLURALS[kind]))
  const notes = [
    `  compared: ${numbers.join(', ')}`,
    ...[...unbound].map(([name, count]) => `  not bound: ${name} of ${count}, written by an older release`),
    ...notAddedUp.map(notAddedUpText),
    ...(removed > 0
      ? [`  ${counted(removed, 'decision')} removed: according to the log, retention may have removed them`]
      : []),
    ...(later > 0 ? [`  ${counted(later, 'record')} not compared: written after the command started`] : []),
    ...(uncovered > 0
      ? [`  ${counted(uncovered, 'entry', 'entries')} without a checkpoint yet: compared but not proved`]
      : []),
  ]
  const details = {
    compared,
    record_differences: differences,
    record_difference_count: differenceCount,
    not_bound: Object.fromEntries(unbound),
    not_added_up: notAddedUp,
    removed,
    not_compared: later,
    uncovered_entries: uncovered,
  }
  if (differenceCount === 0) return { result: 'intact', lines: [`The records match ${log}.`, ...notes], details }
  const unnamed = differenceCount - differences.length
  return {
    result: 'tampered',
    lines: [
      `The log is intact, but ${counted(differenceCount, 'member')} of records differ from it.`,
      ...differences.map(textOf),
      ...(unnamed > 0 ? [`… and ${unnamed} more`] : []),
      ...notes,
    ],
    details,
  }
}

const PLURALS: Readonly<Record<string, string>> = { policy: 'policies' }

function textOf(difference: RecordDifference): string {
  return `  ${difference.kind} ${difference.id}: ${saidOf(difference)}`
}

function saidOf({ kind, member, logged, stored, entry, later_entry }: RecordDifference): string {
  const place = entry === null ? '' : ` (${placeText(entry)})`
  if (member === null)
    return stored === null
      ? `there is no record, but the log has ${counted(Number(logged), 'entry', 'entries')} about it${place}`
      : `there is a record, but its first entry is missing from the log${place}`
  if (later_entry !== null) {
    const later = `${later_entry.type} (${placeText(later_entry)})`
    if (isSecret(kind, member)) return `${later} may not change the ${member} of the key`
    const before = entry === null ? 'before all entries' : `after ${placeText(entry)}`
    return `${member} is ${shown(logged)} ${before}, but ${later} may not change it to ${shown(stored)}`
  }
  // A row that is not used has no entry, and neither has an account.
  if (entry === null && kind !== 'account') return `the row is damaged: its document has ${member} ${shown(stored)}`
  if (isSecret(kind, member)) return `the ${member} of the key differ from the log${place}`
  return `${member} is ${shown(stored)} in the record, but ${shown(logged)} in the log${place}`
}

function placeText({ log, index }: EntryPlace): string {
  return `entry ${index} of log ${log}`
}

function shown(value: RecordDifference['logged']): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
}
