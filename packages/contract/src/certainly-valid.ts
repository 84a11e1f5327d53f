/**
 * The short way through a schema, for values that are valid. It is derived from the definition of the schema, and gives
 * either what the schema gives or no answer. The schema answers everything else, and writes every error.
 */
import type { z } from 'zod'

/** Not certainly valid: the schema must be asked. */
export const UNSURE: unique symbol = Symbol('unsure')

/** Returns the output of the schema for a value that is certainly valid. Does not change the value. */
type Shortcut = (value: unknown) => unknown

const derived = new WeakMap<z.core.$ZodType, Shortcut>()

/** Returns the output of the schema for this value; UNSURE when only the schema knows. */
export function certainlyValid(schema: z.core.$ZodType, value: unknown): unknown {
  let shortcut = derived.get(schema)
  if (shortcut === undefined) {
    shortcut = shortcutOf(schema)
    derived.set(schema, shortcut)
  }
  return shortcut(value)
}

const unsure: Shortcut = () => UNSURE

function shortcutOf(schema: z.core.$ZodType): Shortcut {
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  const own: readonly z.core.$ZodCheck[] = isCheck(schema) ? [schema] : []
  const checks = [...own, ...(def.checks ?? [])]
  // A check with a condition, or a value that is converted first, is left to the schema.
  if (checks.some(({ _zod }) => _zod.def.when !== undefined) || 'coerce' in def) return unsure
  return checked(typed(schema), checks)
}

function isCheck(schema: z.core.$ZodType): schema is z.core.$ZodType & z.core.$ZodCheck {
  return schema._zod.traits.has('$ZodCheck')
}

/** Checks the type of a value, and of everything in it. */
function typed(schema: z.core.$ZodType): Shortcut {
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  switch (def.type) {
    case 'string':
      return (value) => (typeof value === 'string' ? value : UNSURE)
    case 'number':
      return (value) => (Number.isFinite(value) ? value : UNSURE)
    case 'boolean':
      return (value) => (typeof value === 'boolean' ? value : UNSURE)
    case 'enum': {
      const values = schema._zod.values ?? new Set()
      return (value) => (typeof value === 'string' && values.has(value) ? value : UNSURE)
    }
    case 'custom':
    case 'unknown':
      return (value) => value
    case 'nullable': {
      const inner = shortcutOf(def.innerType)
      return (value) => (value === null ? null : inner(value))
    }
    case 'optional': {
      const inner = shortcutOf(def.innerType)
      return (value) => (value === undefined ? UNSURE : inner(value))
    }
    case 'array':
      return listOf(shortcutOf(def.element))
    case 'object':
      return def.catchall?._zod.def.type === 'never' ? objectOf(def.shape) : unsure
    default:
      return unsure
  }
}

function listOf(item: Shortcut): Shortcut {
  return (value) => {
    if (!Array.isArray(value)) return UNSURE
    const output: unknown[] = []
    for (const one of value) {
      const valid = item(one)
      if (valid === UNSURE) return UNSURE
      output.push(valid)
    }
    return output
  }
}

/** An object without other members. Its output has the members in the order of the schema. */
function objectOf(shape: z.core.$ZodShape): Shortcut {
  const members = Object.entries(shape).map(([name, schema]) => ({
    name,
    shortcut: shortcutOf(schema),
    mayBeAbsent: mayBeAbsent(schema),
  }))
  // The schema would be asked in any case.
  if (members.some(({ shortcut, mayBeAbsent }) => shortcut === unsure && !mayBeAbsent)) return unsure
  return (value) => {
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return UNSURE
    const given = value as Readonly<Record<string, unknown>>
    const output: Record<string, unknown> = {}
    let taken = 0
    for (const { name, shortcut, mayBeAbsent } of members) {
      if (!Object.hasOwn(given, name)) {
        if (mayBeAbsent) continue
        return UNSURE
      }
      const valid = shortcut(given[name])
      if (valid === UNSURE) return UNSURE
      output[name] = valid
      taken += 1
    }
    return Object.getOwnPropertyNames(given).length === taken ? output : UNSURE
  }
}

/** Whether it is left out without a value in its place. */
function mayBeAbsent(schema: z.core.$ZodType): boolean {
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  return def.type === 'optional' && def.innerType._zod.optin === undefined
}

function checked(shortcut: Shortcut, checks: readonly z.core.$ZodCheck[]): Shortcut {
  if (checks.length === 0 || shortcut === unsure) return shortcut
  return (value) => {
    const valid = shortcut(value)
    if (valid === UNSURE) return UNSURE
    const payload: z.core.ParsePayload = { value: valid, issues: [] }
    for (const check of checks) {
      const pending = check._zod.check(payload as z.core.ParsePayload<never>)
      if (pending !== undefined || payload.issues.length > 0 || payload.value !== valid) return UNSURE
    }
    return valid
  }
}
