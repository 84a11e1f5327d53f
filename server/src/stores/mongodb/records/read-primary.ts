import type { Collection } from 'mongodb'
import type { Database } from '../connection/database.js'
import type { Primary, PrimaryName } from '../stored.js'

/** Returns the collection of the primaries of a kind. Null for mutations that consist only of their entry. */
export function primariesOf(database: Database, kind: PrimaryName['kind']): Collection<Primary> | null {
  const { decisions, agents, policyDirectory: policies, keyDirectory: keys, webhookDirectory: webhooks } = database
  const collections: Readonly<Record<PrimaryName['kind'], unknown>> = {
    decision: decisions,
    agent: agents,
    policies,
    keys,
    webhooks,
    none: null,
  }
  // Only members that all of them share are used here.
  return collections[kind] as Collection<Primary> | null
}

/** Returns the primary of a mutation. Null when it does not exist, or when the mutation consists only of its entry. */
export function readPrimary(
  database: Database,
  { kind, id }: PrimaryName,
  projection: Partial<Record<keyof Primary, 1>> = {},
): Promise<Primary | null> {
  return database.call(async () => primariesOf(database, kind)?.findOne({ _id: { $eq: id } }, { projection }) ?? null)
}
