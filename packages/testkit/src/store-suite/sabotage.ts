import type { FeedReads } from '@countersign/store-port/feed'
import type { Store } from '@countersign/store-port/store'

/** A broken promise on top of a sound store. */
export interface Sabotage {
  readonly what: string
  /** The members that differ from the sound store's. */
  readonly broken?: (sound: Store) => Partial<Store>
  /** The same of what is opened for the feed. */
  readonly brokenReads?: (sound: FeedReads) => Partial<FeedReads & { close(): Promise<void> }>
  /** The beginning of the title of the case that fails. */
  readonly caughtBy: string
}

/** The sound object under a broken surface. */
export function altered<T extends object>(sound: T, members: Partial<T>): T {
  return new Proxy(sound, {
    get(target, name) {
      const member: unknown = members[name as keyof T] ?? target[name as keyof T]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

export function later(instant: string): string {
  return new Date(Date.parse(instant) + 1).toISOString()
}

export function earlier(instant: string): string {
  return new Date(Date.parse(instant) - 1).toISOString()
}
