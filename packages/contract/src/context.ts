import { z } from 'zod'
import { ANY_JSON, isJsonObject, type JsonObject } from './json.js'
import { LIMITS } from './limits.js'

/** Keys that reach an object's prototype in careless code. The JSON reader rejects them everywhere. */
const PROTOTYPE_KEYS = new Set(['__proto__', 'constructor', 'prototype'])
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const NOT_IN_KEY = /^\$|[.\u0000-\u001f\u007f-\u009f]/

/**
 * The same rule for JSON Schema, without the prototype keys, and counting code points where the wire counts code units.
 */
export const CONTEXT_KEY_PATTERN = `[^.$\\u0000-\\u001f\\u007f-\\u009f][^.\\u0000-\\u001f\\u007f-\\u009f]{0,${LIMITS.contextKeyLength - 1}}`

/** Whether a context or metadata may have this key, and a path may name it. */
export function isContextKey(key: string): boolean {
  return key.length >= 1 && key.length <= LIMITS.contextKeyLength && !NOT_IN_KEY.test(key) && !PROTOTYPE_KEYS.has(key)
}

/** A place inside a value, linked to its parents up to the root. */
interface Place {
  readonly key: PropertyKey
  readonly parent: Place | null
}

function pathOf(place: Place): PropertyKey[] {
  const path: PropertyKey[] = []
  for (let step: Place | null = place; step !== null; step = step.parent) path.push(step.key)
  return path.reverse()
}

/**
 * Finds all keys that a context may not have; does not look below a faulty key. Uses its own stack, so that deep
 * nesting cannot overflow the call stack.
 */
function faultyKeys(root: JsonObject): Place[] {
  const faulty: Place[] = []
  const open: { readonly value: object; readonly place: Place | null }[] = [{ value: root, place: null }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, place: parent } = next
    const isArray = Array.isArray(value)
    for (const [key, item] of Object.entries(value)) {
      const place = { key, parent }
      if (!isArray && !isContextKey(key)) faulty.push(place)
      else if (typeof item === 'object' && item !== null) open.push({ value: item, place })
    }
  }
  return faulty
}

const KEY_RULE = `has a key that is not allowed: 1 to ${LIMITS.contextKeyLength} characters, no dot, no control character, no $ at its start`

/** Facts for conditions: an object of any JSON whose keys, at any depth, can be named by a path. */
export function factsSchema() {
  return z
    .custom<JsonObject>()
    .meta({
      type: 'object',
      additionalProperties: ANY_JSON,
      propertyNames: { type: 'string', pattern: `^${CONTEXT_KEY_PATTERN}$` },
      description: `Any JSON. A key, at any depth, has 1 to ${LIMITS.contextKeyLength} characters, no dot, no control character and no \`$\` at its start.`,
    })
    .superRefine((value, ctx) => {
      if (!isJsonObject(value)) ctx.addIssue({ code: 'custom', message: 'must be an object' })
      else
        for (const place of faultyKeys(value)) ctx.addIssue({ code: 'custom', path: pathOf(place), message: KEY_RULE })
    })
}
