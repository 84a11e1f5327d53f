import type { Database } from '../connection/database.js'
import type { Home, HomeName } from '../stored.js'

/** The document that makes a record stand, null when it is not there (yet), or when the record is nothing but its entry. */
export function readHome(
  database: Database,
  { kind, id }: HomeName,
  projection: Partial<Record<keyof Home, 1>> = {},
): Promise<Home | null> {
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
