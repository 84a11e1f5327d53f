import type { Json, JsonObject } from '@countersign/contract'

/** Why a row is not used: a member of its document differs from the row's column. */
interface Damage {
  readonly member: string
  /** The value in the document. */
  readonly stored: Json
}

/** Replaces the record of a row that is not used. */
export function damagedRecord({ member, stored }: Damage): JsonObject {
  return { damaged: { member, stored } }
}

/** Returns null for a record that is used. */
export function damageOf({ damaged }: JsonObject): Damage | null {
  if (typeof damaged !== 'object' || damaged === null || Array.isArray(damaged)) return null
  const { member = null, stored = null } = damaged as JsonObject
  return { member: String(member), stored }
}
