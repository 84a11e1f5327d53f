import type { Stats } from '@countersign/contract'

const LENGTH_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const

/** The start of every bucket of the time span, also of those without a decision. */
export function startsOf({ from, to, interval }: Pick<Stats, 'from' | 'to' | 'interval'>): string[] {
  const starts: string[] = []
  for (let at = Date.parse(from); at < Date.parse(to); at += LENGTH_MS[interval])
    starts.push(new Date(at).toISOString())
  return starts
}
