import { toMicro } from '@countersign/contract'
import type { Clock } from '../../ports/clock.js'
import type { Store } from '../../ports/store/store.js'
import type { Policies } from '../../state/policies.js'
import { Listing, type ListingPosition } from './listing.js'

export interface NearlyUsedDeps {
  readonly clock: Clock
  readonly policies: Policies
  readonly store: Pick<Store, 'accounts' | 'policies'>
  /** False once the server shuts down: a walk then ends early. */
  readonly isServing: () => boolean
}

/** Source: docs/budgets.md: the alarm `budget.threshold` has the same share. */
const NEARLY_PERCENT = 80n
/** How many accounts one walk looks at, so that it stays short. */
const ACCOUNTS_OF_A_WALK = 1000
const ACCOUNTS_AT_ONCE = 200
/** A budget with one account for each agent takes at least one step, so steps are limited too. */
const STEPS_OF_A_WALK = 25

/** Counts the present accounts of which at least 80 % is spent or reserved, a share of all accounts at a time. */
export class NearlyUsedBudgets {
  #round: { readonly listing: Listing; readonly position: ListingPosition; readonly found: number } | null = null
  #counted: number | null = null

  constructor(private readonly deps: NearlyUsedDeps) {}

  /**
   * Looks at the next accounts. @returns the count of the last complete round; null before the first one
   *
   * @throws StoreUnavailableError
   */
  async walk(): Promise<number | null> {
    let room = ACCOUNTS_OF_A_WALK
    for (let steps = 0; room > 0 && steps < STEPS_OF_A_WALK && this.deps.isServing(); steps += 1) {
      const { listing, position, found } = this.#round ?? this.#begin()
      const { items, next } = await listing.take(position, Math.min(room, ACCOUNTS_AT_ONCE))
      room -= items.length
      const nearly = items.filter(({ spent, reserved, limit }) => {
        const used = toMicro(spent) + toMicro(reserved)
        return used > 0n && used * 100n >= toMicro(limit) * NEARLY_PERCENT
      })
      const sum = found + nearly.length
      // What follows are accounts of former periods.
      const isWhole = next === null || next.part === 'others'
      this.#round = isWhole ? null : { listing, position: next, found: sum }
      if (!isWhole) continue
      this.#counted = sum
      break
    }
    return this.#counted
  }

  #begin() {
    const { clock, policies, store } = this.deps
    const filter = { agents: null }
    const listing = new Listing(store, { policies: [...policies.others(null)], at: clock.now(), filter })
    return { listing, position: Listing.START, found: 0 }
  }
}
