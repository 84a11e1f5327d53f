import { z } from 'zod'
import { certainlyValid, UNSURE } from './certainly-valid.js'
import { countingFaults } from './fault-count.js'
import { isJsonObject } from './json.js'
import { LIMITS } from './limits.js'
import { toPointer } from './pointer.js'
import type { FieldError } from './problem.js'
import { didYouMean } from './suggestion.js'

/** A value that matches its schema, or every place where it does not. */
export type Validation<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly errors: FieldError[] }

type Issue = z.core.$ZodRawIssue

/** A schema's title with its article: "a decision request". */
function nounOf(schema: z.core.$ZodType): string {
  const title = z.globalRegistry.get(schema)?.title?.toLowerCase()
  if (title === undefined) return 'this object'
  return `${/^[aeiou]/.test(title) ? 'an' : 'a'} ${title}`
}

/** How many places of a request get a suggestion; finding one for each of thousands would take long. */
const SUGGESTIONS = 20

type Suggest = (text: string, names: readonly string[]) => string

/** {@link didYouMean} for its first calls only. */
function fewSuggestions(): Suggest {
  let left = SUGGESTIONS
  return (text, names) => {
    left -= 1
    return left < 0 ? '' : didYouMean(text, names)
  }
}

function unknownMember(key: string, schema: unknown, suggest: Suggest): string {
  if (!(schema instanceof z.ZodObject)) return 'is not known here'
  return `is not a member of ${nounOf(schema)}${suggest(key, Object.keys(schema.shape))}`
}

/** Returns the suggestion for an issue that one of our own checks has found. */
function suggestionFor({ path, ...issue }: z.core.$ZodIssue, suggest: Suggest): string {
  const names = issue.code === 'custom' ? issue.params?.names : undefined
  return names === undefined ? '' : suggest(String(path.at(-1)), names as string[])
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

function count(amount: number | bigint, origin: string): string {
  const noun = origin === 'string' ? 'character' : 'item'
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`
}

/** Describes a fault for issues whose schema has no message. */
function describe(issue: Issue, suggest: Suggest): string {
  if (issue.input === undefined) return 'is missing'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value': {
      const wanted = issue.values.map(String)
      const near = typeof issue.input === 'string' ? suggest(issue.input, wanted) : ''
      return `must be ${wanted.length === 1 ? wanted[0] : `one of ${wanted.join(', ')}`}${near}`
    }
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array')
        return `must have at least ${count(issue.minimum, issue.origin)}`
      return `must be at least ${issue.minimum}`
    case 'too_big':
      if (issue.origin === 'string' || issue.origin === 'array')
        return `must have at most ${count(issue.maximum, issue.origin)}`
      return `must be at most ${issue.maximum}`
    default:
      return 'is not valid'
  }
}

/** Sorts by pointer, in UTF-16 code units. */
function sorted(details: ReadonlyMap<string, string>): FieldError[] {
  return [...details]
    .map(([pointer, detail]) => ({ pointer, detail }))
    .sort((left, right) => (left.pointer < right.pointer ? -1 : 1))
}

/**
 * Checks a JSON value against a schema of this package. Never throws.
 *
 * `errors` names every faulty place by JSON pointer: an unknown member, the place that a missing member would have, and
 * `""` for a body that is not an object. Nothing below a faulty member is checked. The list is sorted, names each place
 * once, and has at most 1,000 items; then there may be more faults. Details contain no values of the request; the first
 * places whose name is close to a known one suggest it.
 */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown): Validation<z.output<Schema>> {
  if (!isJsonObject(value)) return { ok: false, errors: [{ pointer: '', detail: 'must be an object' }] }
  const certain = certainlyValid(schema, value)
  if (certain !== UNSURE) return { ok: true, value: certain as z.output<Schema> }
  const details = new Map<string, string>()
  const note = (path: readonly PropertyKey[], detail: string) => {
    const pointer = toPointer(path)
    if (details.size < LIMITS.namedFaults && !details.has(pointer)) details.set(pointer, detail)
  }
  const suggest = fewSuggestions()
  const error = (issue: Issue) => {
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys.slice(0, LIMITS.namedFaults))
        note([...(issue.path ?? []), key], unknownMember(key, issue.inst, suggest))
    return describe(issue, suggest)
  }
  const parsed = countingFaults(LIMITS.namedFaults, () => schema.safeParse(value, { error }))
  if (parsed.success) return { ok: true, value: parsed.data }
  for (const issue of parsed.error.issues)
    if (issue.code !== 'unrecognized_keys') note(issue.path, `${issue.message}${suggestionFor(issue, suggest)}`)
  return { ok: false, errors: sorted(details) }
}
