import type { Database } from '../connection/database.js'
import type { Primary, PrimaryName } from '../stored.js'

/** The primary of a record. Null when it does not exist, or when the record is nothing but its entry. */
export function readPrimary(
  database: Database,
  { kind, id }: PrimaryName,
  projection: Partial<Record<keyof Primary, 1>> = {},
): Promise<Primary | null> {
  return database.call(async () => {
    switch (kind) {
      case 'decision':
        return database.decisions.findOne({ _id: { $eq: id } }, { projection })
      case 'agent':
        return database.agents.findOne({ _id: { $eq: id } }, { projection })
      case 'policies':
        return database.policyDirectory.findOne({ _id: { $eq: id } }, { projection })
      case 'keys':
        return database.keyDirectory.findOne({ _id: { $eq: id } }, { projection })
      case 'none':
        return null
    }
  })
}
