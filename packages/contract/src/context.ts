import { z } from 'zod'
import { isJsonObject, type JsonObject } from './json.js'
import { LIMITS } from './limits.js'

/** Keys that reach an object's prototype in careless code. The JSON reader refuses them everywhere. */
const PROTOTYPE_KEYS = new Set(['__proto__', 'constructor', 'prototype'])
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const NOT_IN_KEY = /^\$|[.\u0000-\u001f\u007f-\u009f]/

/** The same for JSON Schema, but for the keys of prototypes, and with code points counted where the wire counts code units. */
export const CONTEXT_KEY_PATTERN = `[^.$\\u0000-\\u001f\\u007f-\\u009f][^.\\u0000-\\u001f\\u007f-\\u009f]{0,${LIMITS.contextKeyLength - 1}}`

/** Whether a context or metadata may hold this key, and a path may name it. */
export function isContextKey(key: string): boolean {
  return key.length >= 1 && key.length <= LIMITS.contextKeyLength && !NOT_IN_KEY.test(key) && !PROTOTYPE_KEYS.has(key)
}

/** A place inside a value, as a chain up to its root. */
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
 * The places of all keys that a context may not hold; what lies below a faulty key is not looked at.
 * Keeps its own stack, so that no depth of nesting can overflow ours.
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
      additionalProperties: true,
      propertyNames: { type: 'string', pattern: `^${CONTEXT_KEY_PATTERN}$` },
      description: `Any JSON. A key, at any depth, has 1 to ${LIMITS.contextKeyLength} characters, no dot, no control character and no \`$\` at its start.`,
    })
    .superRefine((value, ctx) => {
      if (!isJsonObject(value)) ctx.addIssue({ code: 'custom', message: 'must be an object' })
      else
        for (const place of faultyKeys(value)) ctx.addIssue({ code: 'custom', path: pathOf(place), message: KEY_RULE })
    })
}
