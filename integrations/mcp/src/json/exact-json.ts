/**
 * JSON that keeps the digits of numbers. `JSON.parse` changes 9007199254740993 and reads 1e400 as infinity, so the client would
 * receive another number than the server sent.
 */
import { MAX_BATCH } from '../messages/json-rpc.js'
import { ExactNumber, isSafeNumber, isSameDecimal } from './exact-number.js'
import { countsOf, readExactly, type TextCounts } from './valid-json.js'

interface Source {
  /** Empty for a part of a text. */
  readonly text: string
  readonly members: number
  readonly plain: unknown
  readonly excess: string | undefined
}

/** The texts that parsed values come from. */
const sources = new WeakMap<object, Source>()
/** Texts to write unchanged. */
const keptTexts = new WeakMap<object, string>()

/**
 * Parses as `JSON.parse` does, but returns an ExactNumber for each number that JavaScript would write differently.
 *
 * @param excessIn returns why the text exceeds a limit, which `excessOf` then returns; the digits are lost. It may also throw
 * @throws SyntaxError for invalid JSON; RangeError if numbers are nested too deeply; what `excessIn` throws
 */
export function parseJson(text: string, excessIn?: (counts: TextCounts) => string | undefined): unknown {
  const counts = countsOf(text)
  const excess = excessIn?.(counts)
  const plain: unknown = JSON.parse(text)
  const exact = counts.oddNumbers === 0 || excess !== undefined ? plain : readExactly(text)
  note(exact, { text, members: counts.members, plain, excess })
  const isBatch = Array.isArray(exact) && exact.length <= MAX_BATCH
  if (isBatch && (exact !== plain || excess !== undefined))
    for (const [index, one] of exact.entries())
      note(one, { text: '', members: 0, plain: (plain as unknown[])[index], excess })
  return exact
}

/** Notes that the value stands for a text that was not read. @param excess the limit that the text exceeds, for `excessOf` */
export function unread<Value extends object>(value: Value, excess: string): Value {
  note(value, { text: '', members: 0, plain: value, excess })
  return value
}

/** The limit that the text of a value exceeds. Undefined if the value was read exactly. */
export function excessOf(value: unknown): string | undefined {
  return sources.get(Object(value))?.excess
}

/**
 * The value as `JSON.parse` returns it, for a value of `parseJson` or an element of its array. Any other value is returned unchanged.
 */
export function plainOf(value: unknown): unknown {
  return sources.get(Object(value))?.plain ?? value
}

/** The second argument of `respelled` for a value of `parseJson`. Undefined if the value has no ExactNumber. */
export function spellingsOf(parsed: unknown): unknown {
  return plainOf(parsed) === parsed ? undefined : parsed
}

/**
 * Writes as `JSON.stringify` does, but with the digits of each ExactNumber. Returns the original text if `keepText` kept it.
 *
 * @throws TypeError, RangeError for values that JSON cannot hold: circular, or nested too deeply
 */
export function textOfJson(value: unknown): string {
  return keptTexts.get(Object(value)) ?? writtenText(value)
}

/** The same without line breaks. */
export function oneLineOfJson(value: unknown): string {
  const text = textOfJson(value)
  return /[\r\n]/.test(text) ? writtenText(value) : text
}

/**
 * Writes `made` by the original text of `parsed`, unless readers could disagree about that text: it repeats a member, or `made` has
 * other members.
 */
export function keepText(parsed: object, made: object): void {
  const { text = '', members } = sources.get(parsed) ?? {}
  const names = Object.keys(parsed)
  if (text === '' || names.length !== Object.keys(made).length || !names.every((name) => Object.hasOwn(made, name)))
    return
  if (members === countOfMembers(parsed)) keptTexts.set(made, text)
}

/**
 * `made` with the digits of `parsed` where both have the same number at the same place. Digits that a double cannot hold are left
 * out: a program that reads all of them would see another number than the gate did.
 */
export function respelled(made: unknown, parsed: unknown): unknown {
  if (parsed === undefined) return made
  if (typeof made === 'number') return parsed instanceof ExactNumber && isSpelling(parsed, made) ? parsed : made
  if (Array.isArray(made)) return Array.isArray(parsed) ? made.map((one, at) => respelled(one, parsed[at])) : made
  if (typeof made !== 'object' || made === null || typeof parsed !== 'object' || parsed === null) return made
  return Object.fromEntries(
    Object.entries(made).map(([name, member]) => [
      name,
      Object.hasOwn(parsed, name) ? respelled(member, (parsed as Record<string, unknown>)[name]) : member,
    ]),
  )
}

function note(value: unknown, source: Source): void {
  if (typeof value === 'object' && value !== null) sources.set(value, source)
}

function writtenText(value: unknown): string {
  const { rounded } = ExactNumber
  const text = JSON.stringify(value)
  return ExactNumber.rounded === rounded ? text : exactText(value)
}

function exactText(value: unknown): string {
  if (value instanceof ExactNumber) return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((one) => exactText(one ?? null)).join()}]`
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${exactText(member)}`).join()}}`
}

/**
 * Counts the members that `JSON.parse` has kept: one of two members with the same name. Undefined if the value is nested too deeply.
 */
function countOfMembers(parsed: object): number | undefined {
  try {
    return membersIn(parsed)
  } catch {
    return undefined
  }
}

function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return 0
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value)
  return members.reduce<number>((sum, member) => sum + membersIn(member), Array.isArray(value) ? 0 : members.length)
}

/** Whether the digits are a spelling of this number, or must not change because a double cannot hold them. */
function isSpelling(exact: ExactNumber, value: number): boolean {
  if (exact.valueOf() !== value) return false
  return !isSafeNumber(exact) || isSameDecimal(exact.toString(), String(value))
}
