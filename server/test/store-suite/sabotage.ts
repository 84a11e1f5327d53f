import type { FeedStore } from '#server/ports/store/feed'
import type { Store } from '#server/ports/store/store'

/** Some members of an object, and of its roles. */
export type Altered<T> = { readonly [Name in keyof T]?: AlteredMember<T[Name]> }
type AlteredMember<Member> = Member extends (...parameters: never[]) => unknown
  ? Member
  : Member extends object
    ? Altered<Member>
    : Member

/** A broken promise on top of a sound store. */
export interface Sabotage {
  readonly what: string
  /** The members that differ from the sound store's. */
  readonly broken?: (sound: Store) => Altered<Store>
  /** The same of what is opened for the feed. */
  readonly brokenReads?: (sound: FeedStore) => Altered<FeedStore>
  /** The beginning of the title of the case that fails. */
  readonly caughtBy: string
}

/** The sound object under another surface. */
export function altered<T extends object>(sound: T, members: Altered<T>): T {
  return new Proxy(sound, {
    get(target, name) {
      const [own, other]: unknown[] = [Reflect.get(target, name), Reflect.get(members, name)]
      if (isObject(own) && isObject(other)) return altered(own, other)
      const member = other ?? own
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

export function later(instant: string): string {
  return new Date(Date.parse(instant) + 1).toISOString()
}

export function earlier(instant: string): string {
  return new Date(Date.parse(instant) - 1).toISOString()
}
