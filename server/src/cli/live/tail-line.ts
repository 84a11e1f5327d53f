import type { ReceivedEvent } from '@countersign/client'
import { printable } from '@countersign/client/text'
import type pc from 'picocolors'
import { column } from './shown-text.js'

type Colors = Pick<ReturnType<typeof pc.createColors>, 'dim' | 'green' | 'red' | 'yellow'>

const COLORS: Readonly<Record<string, keyof Colors>> = {
  authorized: 'green',
  approved: 'green',
  confirmed: 'green',
  denied: 'red',
  declined: 'red',
  rejected: 'red',
  awaiting_review: 'yellow',
  expired: 'dim',
}
/** Changes that the status alone does not distinguish. */
const NAMED_CHANGES: ReadonlySet<string> = new Set(['decision.claimed', 'decision.redeemed', 'decision.corrected'])

/** Formats one change of a decision: time, status, agent, action, resource, amount, reason. A missing value is `-`. */
export function tailLine({ type, timestamp, data }: ReceivedEvent, colors: Colors): string {
  const status = printable(data.status)
  const change = NAMED_CHANGES.has(type) ? `${status}/${type.slice('decision.'.length)}` : status
  const color = Object.hasOwn(COLORS, data.status) ? COLORS[data.status] : undefined
  const columns = [
    colors.dim(printable(timestamp)),
    color === undefined ? change.padEnd(15) : colors[color](change.padEnd(15)),
    column(data.agent_id).padEnd(16),
    column(data.action).padEnd(16),
    (data.resource === null ? '-' : column(data.resource)).padEnd(12),
    amountOf(data).padEnd(9),
  ]
  const line = columns.join('  ')
  return data.reason === null ? line.trimEnd() : `${line}  ${printable(data.reason)}`
}

/** Returns the settled amount, or else the amount that the budgets were asked for. */
function amountOf({ budgets, outcome }: ReceivedEvent['data']): string {
  const units = [...new Set(budgets.map(({ unit }) => printable(unit)))]
  if (outcome !== null && outcome.amount !== null) return [outcome.amount, ...units.slice(0, 1)].join(' ')
  const asked = budgets.flatMap(({ amount, unit }) => (amount === null ? [] : [`${amount} ${printable(unit)}`]))
  return [...new Set(asked)].join(', ') || '-'
}
