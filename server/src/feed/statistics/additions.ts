/** Computes what an entry of the audit log adds to the statistics. Pure: the entry contains everything needed. */
import { type AuditEntry, EFFECTS, type Effect, LIMITS, type StatsGroup, toMicro } from '@countersign/contract'
import { toMicroseconds } from '../../use-cases/stats/histogram.js'

/** A decision. It counts once in the total, and once for its value in each group. */
export interface CountedDecision {
  readonly effect: Effect
  /** Null in entries of older releases. */
  readonly latencyUs: number | null
  readonly values: Readonly<Record<StatsGroup, string | null>>
}

/** Money of one budget, in 1e-6 units. */
export interface CountedMoney {
  readonly policyId: string
  readonly unit: string
  readonly decided: bigint
  readonly settled: bigint
  readonly released: bigint
}

export function decisionOf({ type, agent_id, data }: AuditEntry): CountedDecision | null {
  const { effect, action, policy_id, latency_ms } = data
  if (type !== 'decision.created' || !isEffect(effect)) return null
  return {
    effect,
    latencyUs: typeof latency_ms === 'number' ? toMicroseconds(latency_ms) : null,
    values: { effect, action: textOf(action), agent: agent_id, policy: textOf(policy_id) },
  }
}

/**
 * - decided: the amount that a decision or an approval reserved
 * - settled: the amount that was spent, minus the amount that counted as spent before
 * - released: when a reservation ends, its unspent part; never below 0
 */
export function moneyOf({ type, data }: AuditEntry): readonly CountedMoney[] {
  const reserves = type === 'decision.created' || type === 'decision.approved'
  const decided = reserves ? rowsOf(data.budgets).filter(({ reserved }) => reserved === true) : []
  return [
    ...decided.flatMap((row) => movement(row, { decided: microOf(row.amount) })),
    ...rowsOf(data.committed).flatMap((row) => {
      // An older release does not record the amount that counted before, so a replacement would count twice.
      if (row.was === undefined && isReplacing(type, data)) return []
      const [amount, was, reserved] = [microOf(row.amount), microOf(row.was), microOf(row.reserved)]
      return movement(row, { settled: amount - was, released: reserved > amount ? reserved - amount : 0n })
    }),
  ]
}

function isReplacing(type: AuditEntry['type'], { outcome }: AuditEntry['data']): boolean {
  return type === 'decision.corrected' || (outcome as { late?: unknown } | undefined)?.late === true
}

type Row = Readonly<Record<string, unknown>>

function movement({ policy_id, unit }: Row, moved: Partial<CountedMoney>): readonly CountedMoney[] {
  if (typeof policy_id !== 'string' || typeof unit !== 'string') return []
  return [{ policyId: policy_id, unit, decided: 0n, settled: 0n, released: 0n, ...moved }]
}

function rowsOf(value: unknown): readonly Row[] {
  return Array.isArray(value) ? value.filter((row) => typeof row === 'object' && row !== null) : []
}

/** Older releases omit members: these amounts are unknown and count as 0. */
function microOf(value: unknown): bigint {
  return typeof value === 'number' && value >= 0 && value <= LIMITS.amount ? toMicro(value) : 0n
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function isEffect(value: unknown): value is Effect {
  return EFFECTS.some((effect) => effect === value)
}
