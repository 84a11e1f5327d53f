/**
 * Divides a fixed number of resources among API keys.
 *
 * No key can keep the others out: a key and the keys that it created together hold at most half of what its creator may
 * hold in the same way, and the key itself holds at most half of that. So creating keys gains a key nothing.
 */
export class Shares {
  /** The number held, by group. */
  private readonly held = new Map<string, number>()

  /**
   * @param total how many resources there are
   * @param lineOf returns the keys that a key descends from, first ancestor first, and the key itself
   * @param ofKey the most that one key may hold
   */
  constructor(
    private readonly total: number,
    private readonly lineOf: LineOf,
    private readonly ofKey: number = total,
  ) {}

  /** The number that each API key holds itself. */
  get holders(): ReadonlyMap<string, number> {
    const own = [...this.held].filter(([group]) => group.startsWith(OWN))
    return new Map(own.map(([group, count]) => [group.slice(OWN.length), count]))
  }

  /**
   * Returns the groups from all keys down to the key itself, without the keys that it created. Each group may hold half
   * of the one before it.
   */
  groupsOf(keyId: string): readonly string[] {
    const line = this.lineOf(keyId)
    return [ALL, ...(line.length === 0 ? [keyId] : line), ownGroup(keyId)]
  }

  /** Returns the widest of these groups that has reached its limit. */
  fullGroup(groups: readonly string[]): FullGroup | undefined {
    const level = groups.findIndex((group, i) => (this.held.get(group) ?? 0) >= this.limitAt(i, groups))
    if (level === -1) return undefined
    const whose = level === 0 ? 'all' : level === groups.length - 1 ? 'key' : 'line'
    return { limit: this.limitAt(level, groups), whose }
  }

  count(groups: readonly string[], change: 1 | -1): void {
    for (const group of groups) addTo(this.held, group, change)
  }

  private limitAt(level: number, groups: readonly string[]): number {
    const share = Math.max(1, Math.floor(this.total / 2 ** level))
    return level === groups.length - 1 ? Math.min(share, this.ofKey) : share
  }
}

export type LineOf = (keyId: string) => readonly string[]

interface FullGroup {
  readonly limit: number
  /** The limit that was reached: of all keys, of the key with its related keys, or of the key itself. */
  readonly whose: 'all' | 'line' | 'key'
}

const ALL = 'all'
const OWN = 'own '

/** The group for what a key holds itself. */
export function ownGroup(keyId: string): string {
  return OWN + keyId
}

/** Counts by name. Names with a count of zero are removed. */
export function addTo(counts: Map<string, number>, name: string, change: 1 | -1): void {
  const count = (counts.get(name) ?? 0) + change
  if (count === 0) counts.delete(name)
  else counts.set(name, count)
}
