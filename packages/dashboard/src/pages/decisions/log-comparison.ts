import type { AuditEntry, DecisionDetail } from '@countersign/contract'

type Compared = Pick<DecisionDetail, 'id' | 'agent_id' | 'action' | 'effect' | 'reason_code' | 'status'>

/**
 * What a page says of a decision otherwise than the audit log, in words: its entries prove nothing of what they do not say.
 *
 * @param entries about it, the oldest first
 */
export function differencesFromLog(decision: Compared, entries: readonly AuditEntry[]): string[] {
  const [created] = entries
  if (created?.type !== 'decision.created') return ['its beginning, which the log does not have']
  if (entries.some(({ subject }) => subject !== decision.id)) return ['its entries, of which one is of something else']
  // Entries of older releases have neither a version nor a status.
  const hasGap = entries.some(({ data: { version } }, place) => version !== undefined && version !== place + 1)
  if (hasGap) return ['its entries, of which one is missing']
  // What has expired by the clock gets its entry a little later.
  const status = entries.findLast(({ data }) => data.status !== undefined)?.data.status
  const hasStatus = status !== undefined && decision.status !== 'expired'
  const pairs = [
    ['agent', decision.agent_id, created.agent_id],
    ['action', decision.action, created.data.action],
    ['effect', decision.effect, created.data.effect],
    ['reason code', decision.reason_code, created.data.reason_code],
    ...(hasStatus ? [['status', decision.status, status] as const] : []),
  ] as const
  return pairs.filter(([, shown, logged]) => shown !== logged).map(([what]) => `the ${what}`)
}
