/** Logs whose processes die, and commands that come late; and that each rule which keeps them whole is needed. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Database } from '#server/stores/mongodb/connection/database'
import { LOG_CASES, type LogCase } from './log-cases.js'
import { LATER_MS, Processes } from './processes.js'
import { change } from './sabotages.js'

type Filter = { readonly _id: string; readonly [member: string]: unknown }
type Update = { readonly $set: Readonly<Record<string, unknown>> }

/** A store that says other things to its logs. */
function logsSay(changed: (filter: Filter, update: Update) => readonly [Filter, Update]) {
  return (database: Database): void =>
    change(database, 'logs', (own) => ({
      updateOne: (filter: Filter, update: Update) => own.updateOne(...(changed(filter, update) as [never, never])),
    }))
}

const withoutRev = ({ rev: _, ...filter }: Filter): Filter => filter as Filter

interface Sabotage {
  readonly what: string
  readonly broken: (database: Database) => void
  /** The title of the case that fails. */
  readonly caughtBy: string
}

const SABOTAGES: readonly Sabotage[] = [
  {
    what: 'gives a log up before its group is finished',
    broken: (database) =>
      change(database, 'logs', (own) => ({
        find: (filter: Filter) => own.find({ $and: [filter as never, { holder: { $ne: null } }] }),
        updateOne: (filter: Filter, { $set }: Update) =>
          own.updateOne(filter as never, { $set: 'epoch' in $set ? { holder: null, ...$set } : $set }),
      })),
    caughtBy: 'what a takeover that failed has left is finished by the next',
  },
  {
    what: 'ends and keeps its log',
    broken: logsSay((filter, { $set }) => [
      filter,
      { $set: $set.until_ms === 0 ? { until_ms: Date.now() + LATER_MS } : $set },
    ]),
    caughtBy: 'what was in doubt when its process ended is finished by another, and the name of the call is free',
  },
  {
    what: 'settles whatever intents are there',
    broken: logsSay((filter, update) => {
      const isSettlement = 'underway' in update.$set && !('group' in update.$set)
      if (!isSettlement) return [filter, update]
      const { rev: _, ...$set } = update.$set
      return [withoutRev(filter), { $set }]
    }),
    caughtBy: 'a change is not taken for known while it is on its way, whatever settles late',
  },
  {
    what: 'writes intents whatever it wrote since',
    broken: logsSay((filter, update) =>
      (update.$set.group as readonly unknown[] | undefined)?.length ? [withoutRev(filter), update] : [filter, update],
    ),
    caughtBy: 'a process that takes a log over finishes its last group, whatever intents come late',
  },
  {
    what: 'finishes whatever intents are there',
    broken: logsSay((filter, update) =>
      (update.$set.group as readonly unknown[] | undefined)?.length === 0
        ? [withoutRev(filter), update]
        : [filter, update],
    ),
    caughtBy: 'a process that takes a log over finishes its last group, whatever is finished late',
  },
  {
    what: 'gives the name of a call back though another call has taken it',
    broken: (database) =>
      change(database, 'claims', (own) => ({
        bulkWrite: (deletions: readonly { deleteOne: { filter: Filter } }[]) =>
          own.bulkWrite(
            deletions.map(({ deleteOne: { filter } }) => ({ deleteOne: { filter: { _id: filter._id } } })) as never,
          ),
      })),
    caughtBy: 'the name of a call stays taken, whatever of an earlier try is given back late',
  },
]

async function run({ run: runCase }: LogCase, sabotage?: (database: Database) => void): Promise<void> {
  const processes = new Processes(`countersign-log-${randomBytes(6).toString('hex')}`, sabotage)
  try {
    await runCase(processes)
  } finally {
    await processes.end()
  }
}

describe('a log on MongoDB', () => {
  it.each(LOG_CASES.map((one) => [one.title, one] as const))('%s', (_, one) => run(one))
})

describe('these cases catch a store that', () => {
  it.each(SABOTAGES.map((sabotage) => [sabotage.what, sabotage] as const))('%s', async (_, { broken, caughtBy }) => {
    const found = LOG_CASES.find(({ title }) => title === caughtBy)
    const failure = await run(found as LogCase, broken).then(
      () => null,
      (error: unknown) => error,
    )
    expect(failure).toMatchObject({ name: 'AssertionError' })
  })
})
