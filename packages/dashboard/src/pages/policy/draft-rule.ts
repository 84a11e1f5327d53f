import type { Conditions, DecisionDetail, Json, JsonObject, Rule } from '@countersign/contract'

type Asked = Pick<DecisionDetail, 'id' | 'agent_id' | 'action' | 'resource' | 'context'>

/**
 * Drafts a rule that allows the request of a decision and little else. It matches the action, the resource, and each text and
 * boolean of the context exactly, and each number up to the requested one. Lists, nulls and keys that no path can name are
 * left out.
 */
export function draftRule({ id, action, resource, context }: Asked): Rule {
  // In a pattern, a star would match any text.
  const isPattern = resource !== null && !resource.includes('*')
  const conditions: Conditions = {
    ...(!isPattern && { resource: resource === null ? { $exists: false } : { $eq: resource } }),
    ...conditionsOf(context ?? {}, 'context'),
  }
  return {
    action,
    ...(isPattern && { resource }),
    effect: 'allow',
    ...(Object.keys(conditions).length > 0 && { conditions }),
    reason: `Allows the request of ${id}.`,
  }
}

function conditionsOf(facts: JsonObject, path: string): Conditions {
  const found = Object.entries(facts).flatMap(([key, value]) =>
    isField(key) ? Object.entries(conditionOn(value, `${path}.${key}`)) : [],
  )
  return Object.fromEntries(found)
}

function conditionOn(value: Json, path: string): Conditions {
  if (typeof value === 'number') return { [path]: boundsOf(value) }
  if (typeof value === 'string' || typeof value === 'boolean') return { [path]: { $eq: value } }
  if (value === null || Array.isArray(value)) return {}
  return conditionsOf(value as JsonObject, path)
}

/** Bounds both sides, because a refund of -5000 is at most 100 too. */
function boundsOf(value: number) {
  if (value > 0) return { $gt: 0, $lte: value }
  return value < 0 ? { $gte: value, $lt: 0 } : { $eq: 0 }
}

const PROTOTYPE_KEYS = ['__proto__', 'constructor', 'prototype']
const MAX_KEY_LENGTH = 128

/** Whether the server accepts the key in a path. */
function isField(key: string): boolean {
  if (key.length === 0 || key.length > MAX_KEY_LENGTH || PROTOTYPE_KEYS.includes(key)) return false
  return !key.startsWith('$') && !/[.\p{Cc}]/u.test(key)
}
