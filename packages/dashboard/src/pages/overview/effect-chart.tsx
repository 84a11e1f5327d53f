import type { Effect, Stats } from '@countersign/contract'
import { Bar, BarChart, CartesianGrid, Legend, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'

const EFFECTS: readonly Effect[] = ['allow', 'log', 'review', 'deny']

/** A bar chart of decisions over time, divided by effect. A screen reader gets the same as a table. */
export function EffectChart({ stats }: { readonly stats: Stats }) {
  const found = new Map(stats.data.map((bucket) => [bucket.starts_at, bucket.effects]))
  const data = startsOf(stats).map((at) => ({
    label: labelOf(at, stats.interval),
    ...(found.get(at) ?? { allow: 0, deny: 0, review: 0, log: 0 }),
  }))
  return (
    <>
      <div aria-hidden="true" style={{ height: 260 }}>
        <ResponsiveContainer width="100%" height="100%">
          <BarChart data={data} margin={{ top: 4, right: 4, bottom: 0, left: -16 }} accessibilityLayer={false}>
            <CartesianGrid vertical={false} stroke="var(--line)" />
            <XAxis dataKey="label" tick={{ fill: 'var(--quiet)', fontSize: 12 }} stroke="var(--line)" minTickGap={24} />
            <YAxis allowDecimals={false} tick={{ fill: 'var(--quiet)', fontSize: 12 }} stroke="var(--line)" />
            <Tooltip
              cursor={{ fill: 'var(--soft)' }}
              contentStyle={{ background: 'var(--mantine-color-body)', borderColor: 'var(--line)' }}
            />
            <Legend />
            {EFFECTS.map((effect) => (
              <Bar
                key={effect}
                dataKey={effect}
                stackId="effects"
                fill={`var(--${effect})`}
                isAnimationActive={false}
              />
            ))}
          </BarChart>
        </ResponsiveContainer>
      </div>
      <div className="visually-hidden">
        <table>
          <caption>Decisions by effect over time</caption>
          <thead>
            <tr>
              <th scope="col">From</th>
              {EFFECTS.map((effect) => (
                <th key={effect} scope="col">
                  {effect}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {stats.data.map(({ starts_at, effects }) => (
              <tr key={starts_at}>
                <th scope="row">{starts_at}</th>
                {EFFECTS.map((effect) => (
                  <td key={effect}>{effects[effect]}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

function labelOf(at: string, interval: Stats['interval']): string {
  const date = new Date(at)
  if (interval === 'day') return date.toLocaleDateString('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })
  return date.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
}

const LENGTH_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const

/** Returns the start of every bucket in the time span, even of empty ones. */
function startsOf({ from, to, interval }: Pick<Stats, 'from' | 'to' | 'interval'>): string[] {
  const starts: string[] = []
  for (let at = Date.parse(from); at < Date.parse(to); at += LENGTH_MS[interval])
    starts.push(new Date(at).toISOString())
  return starts
}
