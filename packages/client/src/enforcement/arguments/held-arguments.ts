import { HeldData, isPlainArray, isPlainObject, membersOf } from './held-data.js'

/**
 * Names what of the arguments a question is about: an argument by its position (`0`, or `'0'`), or a member of one by its
 * path (`'1.amount'`).
 */
export type BoundField = number | string

/** The arguments of one call. */
export interface HeldArguments {
  /** For what maps to the question: only what is held still; all else is undefined. */
  toMap(): unknown[]
  /** For the function itself: what is held still as it was mapped, all else as it was given. */
  toRun(): unknown[]
}

/** What is bound of one value: all of it, or some members. */
type Bound = true | BoundMembers
interface BoundMembers {
  readonly [name: string]: Bound
}

const FIELD = /^(0|[1-9]\d*)(\.[^.]+)*$/

/**
 * What holds the arguments of a call still. Without `fields`, all of them, and all have to be data. With `fields`, those
 * that are named: what is between an argument and a member of it that is named has to be a plain object or array, of which
 * the function is given another one with the same members.
 *
 * @throws TypeError for fields that name nothing, or one inside another
 */
export function argumentHolder(fields?: readonly BoundField[]): (args: readonly unknown[]) => HeldArguments {
  if (fields === undefined) {
    return (args) => {
      const held = new HeldData([...args], 'arguments')
      return { toMap: () => held.take(), toRun: () => held.take() }
    }
  }
  const bound = readFields(fields)
  return (args) => {
    const { picked, rebuild } = takeApart([...args], bound, 'arguments')
    const held = new HeldData(picked as unknown[], 'arguments')
    return { toMap: () => held.take(), toRun: () => rebuild(held.take()) as unknown[] }
  }
}

/** What is bound of a value, and how the whole is made again around it, with all else as it is now. */
interface Parts {
  readonly picked: unknown
  rebuild(picked: unknown): unknown
}

function takeApart(value: unknown, bound: Bound, place: string): Parts {
  const isLeaf = bound === true || value === null || (typeof value !== 'object' && typeof value !== 'function')
  if (isLeaf) return { picked: value, rebuild: (picked) => picked }
  const isArray = isPlainArray(value)
  if (!isArray && !isPlainObject(value))
    throw new TypeError(`bind names a member of ${place}, which is no plain object`)
  const parts = membersOf(value, place).map(([name, member]) => {
    const boundHere = bound[name]
    const part = boundHere && takeApart(member, boundHere, `${place}.${name}`)
    return { name, member, part }
  })
  const picked: Record<string, unknown> = newLike(isArray)
  for (const { name, part } of parts) if (part || isArray) picked[name] = part?.picked
  return {
    picked,
    rebuild: (fixed) => {
      const whole = newLike(isArray)
      for (const { name, member, part } of parts) {
        whole[name] = part ? part.rebuild((fixed as Record<string, unknown>)[name]) : member
      }
      return Object.freeze(whole)
    },
  }
}

function newLike(isArray: boolean): Record<string, unknown> {
  return (isArray ? [] : {}) as Record<string, unknown>
}

function readFields(fields: readonly BoundField[]): BoundMembers {
  if (!Array.isArray(fields)) throw new TypeError('bind has to be an array of fields')
  const bound: Record<string, Bound> = Object.create(null)
  for (const field of fields) {
    const text = String(field)
    const names = text.split('.')
    const isWhole = typeof field === 'string' || Number.isInteger(field)
    if (!isWhole || !FIELD.test(text) || names.includes('__proto__')) {
      throw new TypeError(
        `bind names ${text}, which is neither a position nor the path of a member, such as '0.amount'`,
      )
    }
    let at = bound
    for (const [index, name] of names.entries()) {
      const isLast = index === names.length - 1
      const there = at[name]
      if (there === true || (isLast && there !== undefined)) throw new TypeError(`bind names ${text} twice`)
      if (isLast) at[name] = true
      else {
        const next = there ?? (Object.create(null) as Record<string, Bound>)
        at[name] = next
        at = next as Record<string, Bound>
      }
    }
  }
  return bound
}
