/** An item that waits for its turn, with the groups that it belongs to. */
export interface Waiting {
  /**
   * The groups of the item, each within the one before, widest first. The last one is the narrowest: items with the
   * same last group have all groups in common.
   */
  readonly groups: readonly string[]
}

/** The most groups whose last turn is remembered. A forgotten group goes first, like one that never had a turn. */
const MAX_REMEMBERED = 10_000

/**
 * A queue in which groups take turns at each level: two widest groups alternate, no matter how many items or groups
 * each of them has in the queue. Items of the same groups leave in order of arrival.
 */
export class FairQueue<T extends Waiting> {
  /** By the narrowest group. */
  private readonly items = new Map<string, T[]>()
  private turns = 0
  /** When each group had its last turn. */
  private readonly lastTurns = new Map<string, number>()

  get isEmpty(): boolean {
    return this.items.size === 0
  }

  add(item: T): void {
    const own = narrowest(item)
    const before = this.items.get(own)
    if (before === undefined) this.items.set(own, [item])
    else before.push(item)
  }

  /** Removes and returns the next item, of the groups that may go. */
  take(mayGo: (groups: readonly string[]) => boolean = () => true): T | undefined {
    let first: T | undefined
    for (const [item] of this.items.values())
      if (item !== undefined && mayGo(item.groups) && (first === undefined || this.isBefore(item, first))) first = item
    if (first === undefined) return undefined
    this.remove(first)
    this.hadTurn(first.groups)
    return first
  }

  /** Counts a turn of an item that did not have to wait. */
  hadTurn(groups: readonly string[]): void {
    this.turns += 1
    for (const group of groups) {
      this.lastTurns.delete(group)
      this.lastTurns.set(group, this.turns)
    }
    for (const oldest of this.lastTurns.keys()) {
      if (this.lastTurns.size <= MAX_REMEMBERED) return
      this.lastTurns.delete(oldest)
    }
  }

  /** Returns the waiting items of a narrowest group. */
  of(group: string): readonly T[] {
    return this.items.get(group) ?? []
  }

  remove(item: T): void {
    const own = narrowest(item)
    const left = this.of(own).filter((other) => other !== item)
    if (left.length === 0) this.items.delete(own)
    else this.items.set(own, left)
  }

  /** Compares two items where their groups first differ: whether the first one's group had its turn earlier. */
  private isBefore({ groups: one }: T, { groups: other }: T): boolean {
    const level = one.findIndex((group, i) => group !== other[i])
    return this.lastTurn(one[level]) < this.lastTurn(other[level])
  }

  private lastTurn(group = ''): number {
    return this.lastTurns.get(group) ?? 0
  }
}

function narrowest({ groups }: Waiting): string {
  return groups.at(-1) ?? ''
}
