/** The only check against options that are misspelt or given in the wrong place. */
import { ownMembers } from './own-members.js'

/** Where options belong that are not known here: one sentence for each. */
export type Elsewhere = Readonly<Record<string, string>>

/**
 * Returns options that may come from a class, such as a configuration with getters: its members count, too. The object
 * has no prototype, so that nothing on `Object.prototype` can replace an absent option.
 *
 * @throws TypeError as `assertOptions` does
 */
export function knownOptionsOfClass<Options extends object>(
  of: string,
  options: Options,
  known: readonly string[],
  elsewhere: Elsewhere,
): Options {
  assertOptions(of, options, known, elsewhere)
  const given = known.filter((name) => Object.hasOwn(options, name) || (name in options && !(name in Object.prototype)))
  return ownMembers(Object.fromEntries(given.map((name) => [name, options[name as keyof Options]]))) as Options
}

/** @throws TypeError for anything but an object, and as `assertKnown` does */
export function assertOptions<Options>(
  of: string,
  options: Options,
  known: readonly string[],
  elsewhere: Elsewhere,
): asserts options is Options & object {
  if (typeof options !== 'object' || options === null) throw new TypeError(`the options of ${of} must be an object`)
  assertKnown(`an option of ${of}`, options, known, elsewhere)
}

/**
 * @param what what each known member is, such as `an option of guard`
 * @throws TypeError for an unknown member: the message gives the spelling, or the right place
 */
export function assertKnown(what: string, given: object, known: readonly string[], elsewhere: Elsewhere): void {
  const stranger = Reflect.ownKeys(given).find((name) => !known.includes(name as string))
  if (stranger === undefined) return
  const name = String(stranger)
  const meant = known.find((one) => spelling(one) === spelling(name))
  const owner = ownMembers(elsewhere)[name]
  const hint = meant === undefined ? owner : `it is called ${meant}`
  throw new TypeError(`${name} is not ${what}${hint === undefined ? '' : `: ${hint}`}`)
}

function spelling(name: string): string {
  return name.replaceAll(/[-_]/g, '').toLowerCase()
}
