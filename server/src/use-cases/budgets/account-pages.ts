import { LIMITS } from '@countersign/contract'
import type { AccountFilter, AccountStore } from '../../ports/store/accounts.js'
import type { StoredAccount } from '../../ports/store/documents.js'
import type { Page } from '../../ports/store/page.js'

/** How many times one page may query the store, even if few of the accounts that it reads match. */
const STEPS_OF_A_PAGE = 100
/** After this time the page ends with the accounts found so far. */
const LONGEST_MS = 2000

/** Some items of a list that is read in steps, and the position of the next step; null at the end of the list. */
export interface Step<Item, Position> {
  readonly items: readonly Item[]
  readonly next: Position | null
}

/** Returns the next items from a position on, at most `room`. A step may be empty although the list continues. */
type TakeStep<Item, Position> = (position: Position, room: number) => Promise<Step<Item, Position>>

/**
 * Fills a page step by step. It also reads past a full page, so that the last page is known to be the last. The work
 * per page is bounded, so a page can be short or empty and still name a next page.
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

/** Returns the next wanted accounts of the store: at most `room`, found among a bounded number. */
export async function takeWanted(
  accounts: Pick<AccountStore, 'list'>,
  filter: AccountFilter,
  isWanted: (account: StoredAccount) => boolean,
  after: string | null,
  room: number,
  limit: number = LIMITS.pageSize,
): Promise<Page<StoredAccount>> {
  const { items, next } = await accounts.list(filter, { limit, after })
  const wanted = items.filter(isWanted)
  const last = wanted[room - 1]
  if (last === undefined || wanted.length === room) return { items: wanted, next }
  // Accounts after the last one that fits must not be skipped, so this reads again, up to that one.
  return takeWanted(accounts, filter, isWanted, after, room, items.indexOf(last) + 1)
}
