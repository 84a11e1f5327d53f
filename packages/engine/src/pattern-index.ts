import { compilePattern, matchesPattern, type Pattern } from '@countersign/contract'
import { PersistentMap } from './persistent-map.js'

interface Entry<V> {
  readonly pattern: Pattern
  readonly value: V
}

/**
 * An immutable map from patterns that answers: which values have a pattern that matches this text? A pattern without
 * `*` costs one look-up; one with `*` is tested only when the text begins like the pattern.
 */
export class PatternIndex<V> {
  private constructor(
    private readonly exact: PersistentMap<V>,
    /** Patterns with `*`, by the text before their first `*`. */
    private readonly open: PersistentMap<readonly Entry<V>[]>,
    /** The number of different beginnings of each length. */
    private readonly lengths: readonly number[],
  ) {}

  /** Yields between its parts. */
  static *inParts<V>(values: ReadonlyMap<string, V>): Generator<void, PatternIndex<V>> {
    const exact = new Map<string, V>()
    const open = new Map<string, Entry<V>[]>()
    for (const [source, value] of values) {
      const pattern = compilePattern(source)
      if (pattern.suffix === null) exact.set(source, value)
      else groupOf(open, pattern.prefix).push({ pattern, value })
      yield
    }
    const lengths: number[] = []
    for (const { length } of open.keys()) {
      while (lengths.length <= length) lengths.push(0)
      lengths[length] = (lengths[length] as number) + 1
    }
    return new PatternIndex(
      yield* PersistentMap.inParts(exact),
      yield* PersistentMap.inParts<readonly Entry<V>[]>(open),
      lengths,
    )
  }

  get isEmpty(): boolean {
    return this.exact.size === 0 && this.open.size === 0
  }

  /** Returns the values of the patterns that match the text, in no particular order. */
  find(text: string): V[] {
    const found: V[] = []
    const exact = this.exact.get(text)
    if (exact !== undefined) found.push(exact)
    const longest = Math.min(this.lengths.length - 1, text.length)
    for (let length = 0; length <= longest; length += 1) {
      if (this.lengths[length] === 0) continue
      for (const entry of this.open.get(text.slice(0, length)) ?? []) {
        if (matchesPattern(entry.pattern, text)) found.push(entry.value)
      }
    }
    return found
  }

  /**
   * Returns a copy in which the values of exactly these patterns are changed; undefined means no value, before and
   * after. Data that the patterns share is copied once.
   */
  update(sources: Iterable<string>, change: (value: V | undefined, source: string) => V | undefined): PatternIndex<V> {
    const exact = new Map<string, V | undefined>()
    const groups = new Map<string, Pattern[]>()
    for (const pattern of [...new Set(sources)].map(compilePattern)) {
      if (pattern.suffix === null) exact.set(pattern.source, change(this.exact.get(pattern.source), pattern.source))
      else groupOf(groups, pattern.prefix).push(pattern)
    }
    const open = new Map<string, readonly Entry<V>[] | undefined>()
    let lengths = this.lengths
    for (const [prefix, patterns] of groups) {
      const before = this.open.get(prefix) ?? []
      const entries = new Map(before.map((entry) => [entry.pattern.source, entry]))
      for (const pattern of patterns) {
        const value = change(entries.get(pattern.source)?.value, pattern.source)
        if (value === undefined) entries.delete(pattern.source)
        else entries.set(pattern.source, { pattern, value })
      }
      open.set(prefix, entries.size > 0 ? [...entries.values()] : undefined)
      lengths = count(lengths, prefix.length, Number(entries.size > 0) - Number(before.length > 0))
    }
    return new PatternIndex(this.exact.withAll(exact), this.open.withAll(open), lengths)
  }
}

function count(lengths: readonly number[], length: number, difference: number): readonly number[] {
  if (difference === 0) return lengths
  const counted = [...lengths]
  while (counted.length <= length) counted.push(0)
  counted[length] = (counted[length] as number) + difference
  return counted
}

function groupOf<V>(groups: Map<string, V[]>, key: string): V[] {
  const group = groups.get(key) ?? []
  groups.set(key, group)
  return group
}
