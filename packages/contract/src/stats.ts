import { z } from 'zod'
import type { Immutable } from './immutable.js'
import { TimestampSchema } from './timestamp.js'

/** The length of a bucket. A bucket starts at a whole minute, hour or day in UTC. */
export const STATS_INTERVALS = ['minute', 'hour', 'day'] as const
export type StatsInterval = (typeof STATS_INTERVALS)[number]

/** The groups that decisions can be counted by. */
export const STATS_GROUPS = ['effect', 'action', 'agent', 'policy'] as const
export type StatsGroup = (typeof STATS_GROUPS)[number]

const count = () => z.int().min(0)

/** Milliseconds of the evaluations; each quantile is at most 5 percent above the true one, and `max` is exact. */
const LatencySchema = z
  .strictObject({ p50: z.number(), p90: z.number(), p99: z.number(), max: z.number() })
  .meta({ id: 'Latency' })
export type Latency = Immutable<z.infer<typeof LatencySchema>>

const countsShape = {
  decisions: count(),
  effects: z.strictObject({ allow: count(), deny: count(), review: count(), log: count() }),
  latency_ms: LatencySchema.nullable().meta({
    description: 'Null if there are no decisions. Audit entries of old releases have no latency.',
  }),
}

/** The decisions of one bucket; with a group, those of one of its values. */
export const StatsBucketSchema = z
  .strictObject({
    starts_at: TimestampSchema,
    value: z.string().nullable().meta({
      description:
        'The effect, action, agent or policy. Null without `group`. With `group`, null is the row for all values without a separate row: those with fewer decisions in the time span, and those beyond the first 1,000 of a bucket.',
    }),
    ...countsShape,
  })
  .meta({ id: 'StatsBucket' })
export type StatsBucket = Immutable<z.infer<typeof StatsBucketSchema>>

/** The money of one budget in the whole time span, in its unit. */
export const StatsBudgetSchema = z
  .strictObject({
    policy_id: z.string(),
    unit: z.string(),
    decided: z.number().meta({ description: 'Amounts reserved by decisions and approvals.' }),
    settled: z.number().meta({
      description: 'Spent amounts: confirmed, expired and corrected. Negative if corrections returned more.',
    }),
    released: z.number().meta({ description: 'Reserved amounts that were not spent.' }),
  })
  .meta({ id: 'StatsBudget' })
export type StatsBudget = Immutable<z.infer<typeof StatsBudgetSchema>>

/** Counts for charts, from aggregates, so that the cost does not grow with the number of decisions. */
export const StatsSchema = z
  .strictObject({
    from: TimestampSchema.meta({ description: 'Inclusive: the start of the first bucket.' }),
    to: TimestampSchema.meta({ description: 'Exclusive: the end of the last bucket.' }),
    interval: z.enum(STATS_INTERVALS),
    group: z.enum(STATS_GROUPS).nullable(),
    total: z.strictObject(countsShape),
    data: z.array(StatsBucketSchema).meta({ description: 'Oldest first. Buckets without a decision are left out.' }),
    budgets: z.array(StatsBudgetSchema).meta({
      description: 'Empty for a key without `budgets:read` and for a key that is bound to agents.',
    }),
    incomplete: z.boolean().meta({
      description:
        'Whether decisions that the caller may see can be missing: entries that are not counted yet or, for a key that is bound to agents, decisions of agents beyond the first 1,000 of a bucket.',
    }),
    uncounted_entries: count().nullable().meta({
      description:
        'The number of audit entries that are not counted yet. Null for a key that is bound to agents, because it covers all agents.',
    }),
  })
  .meta({ id: 'Stats' })
export type Stats = Immutable<z.infer<typeof StatsSchema>>
