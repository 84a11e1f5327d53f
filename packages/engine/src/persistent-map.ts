import { runToEnd } from './parts.js'

/** Up to this size, a change copies the only shard; above it, one of many. */
const SMALL = 64
const SHARDS = 256

/**
 * An immutable map from strings with cheap changed copies: a copy shares all shards except the changed one. A change
 * costs about SHARDS + size / SHARDS steps, a look-up one hash of the key's end and one of the key.
 */
export class PersistentMap<V> {
  private constructor(
    readonly size: number,
    private readonly shards: readonly ReadonlyMap<string, V>[],
  ) {}

  static of<V>(entries: ReadonlyMap<string, V>): PersistentMap<V> {
    return runToEnd(PersistentMap.inParts(entries))
  }

  /** {@link PersistentMap.of} for callers with other work to do between its parts. */
  static *inParts<V>(entries: ReadonlyMap<string, V>): Generator<void, PersistentMap<V>> {
    if (entries.size <= SMALL) return new PersistentMap(entries.size, [entries])
    const shards = Array.from({ length: SHARDS }, () => new Map<string, V>())
    for (const [key, value] of entries) {
      ;(shards[shardOf(key)] as Map<string, V>).set(key, value)
      yield
    }
    return new PersistentMap(entries.size, shards)
  }

  get(key: string): V | undefined {
    return (this.shards.length === 1 ? this.shards[0] : this.shards[shardOf(key)])?.get(key)
  }

  /** Returns a copy in which the key has this value; undefined removes it. */
  with(key: string, value: V | undefined): PersistentMap<V> {
    return this.withAll(new Map([[key, value]]))
  }

  /**
   * Returns a copy in which each key has its value; undefined removes it. Each shard is copied once, even for several
   * keys.
   */
  withAll(changes: ReadonlyMap<string, V | undefined>): PersistentMap<V> {
    const shards = [...this.shards] as Map<string, V>[]
    const copied = new Set<number>()
    let { size } = this
    for (const [key, value] of changes) {
      const index = shards.length === 1 ? 0 : shardOf(key)
      if (!copied.has(index)) shards[index] = new Map(shards[index])
      copied.add(index)
      const shard = shards[index] as Map<string, V>
      size -= shard.size
      if (value === undefined) shard.delete(key)
      else shard.set(key, value)
      size += shard.size
    }
    return shards.length === 1 ? PersistentMap.of(shards[0] as Map<string, V>) : new PersistentMap(size, shards)
  }

  *values(): Generator<V> {
    for (const shard of this.shards) yield* shard.values()
  }
}

/** Ids and names differ most at their ends. A poor spread slows down changes, not look-ups. */
function shardOf(key: string): number {
  let hash = key.length
  for (let at = Math.max(0, key.length - 4); at < key.length; at += 1) hash = hash * 31 + key.charCodeAt(at)
  return hash % SHARDS
}
