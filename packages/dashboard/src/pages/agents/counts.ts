import type { Effect, Stats } from '@countersign/contract'

/** Counts the decisions of an agent by effect. Null when the statistics may count this agent only together with others. */
export function countsOf({ data }: Pick<Stats, 'data'>, id: string): Readonly<Record<Effect, number>> | null {
  const counts = { allow: 0, deny: 0, review: 0, log: 0 }
  const own = data.filter(({ value }) => value === id)
  if (own.length === 0 && data.some(({ value }) => value === null)) return null
  for (const { effects } of own) for (const effect of Object.keys(counts) as Effect[]) counts[effect] += effects[effect]
  return counts
}
