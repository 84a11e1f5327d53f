import { LIMITS } from '@countersign/contract'
import type { StoredAccount } from '@countersign/store-port/documents'
import type { AccountFilter, Page, Store } from '@countersign/store-port/store'

/** How often a page may turn to the store, however few of the accounts that it meets are wanted. */
const STEPS_OF_A_PAGE = 100
/** After so long the page is what was found by then. */
const LONGEST_MS = 2000

/** Some items of a list that is read in steps, and where it goes on; null at its end. */
export interface Step<Item, Position> {
  readonly items: readonly Item[]
  readonly next: Position | null
}

/** The next items from a position on, `room` at most. There may be none though the list goes on. */
type TakeStep<Item, Position> = (position: Position, room: number) => Promise<Step<Item, Position>>

/**
 * Fills a page step by step. What follows a full page is looked at too, so that the last page is known to be the last;
 * the work is bounded, so a page can come short or empty and name a next one.
 */
export async function fillPage<Item, Position>(
  first: Position,
  limit: number,
  take: TakeStep<Item, Position>,
): Promise<Step<Item, Position>> {
  const started = performance.now()
  const isOver = (steps: number) => steps >= STEPS_OF_A_PAGE || (steps > 0 && performance.now() - started > LONGEST_MS)
  const items: Item[] = []
  let position: Position | null = first
  for (let steps = 0; position !== null && !isOver(steps); steps++) {
    const room = limit - items.length
    const step: Step<Item, Position> = await take(position, Math.max(room, 1))
    if (room === 0 && step.items.length > 0) break
    items.push(...step.items)
    position = step.next
  }
  return { items, next: position }
}

/** The next accounts of the store that are wanted: `room` of them at most, found among a bounded number. */
export async function takeWanted(
  store: Pick<Store, 'listAccounts'>,
  filter: AccountFilter,
  isWanted: (account: StoredAccount) => boolean,
  after: string | null,
  room: number,
  limit: number = LIMITS.pageSize,
): Promise<Page<StoredAccount>> {
  const { items, next } = await store.listAccounts(filter, { limit, after })
  const wanted = items.filter(isWanted)
  const last = wanted[room - 1]
  if (last === undefined || wanted.length === room) return { items: wanted, next }
  // Those behind the last that has room must not be passed: read again, up to that one.
  return takeWanted(store, filter, isWanted, after, room, items.indexOf(last) + 1)
}
