/** Many decisions at once, each with a life of its own, against the sum over what was written. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AccountKey } from '@countersign/contract'
import { stress } from '@countersign/testkit'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Posting } from '#server/ports/store/documents'
import type { Balance } from '#server/ports/store/ledger'
import { ConflictError, type Store } from '#server/ports/store/store'
import {
  accountOf,
  createOf,
  decisionOf,
  heldIn,
  idOf,
  instant,
  releasedIn,
  requestOf,
  reviewOf,
  spentIn,
  updateOf,
} from './documents.js'
import { GroupPen } from './group-pen.js'
import { type StoreCase, walk } from './store-case.js'

/** How a decision goes on: as an allow, as a review that is approved, or with a mutation that comes to nothing. */
const FATES = ['stays', 'confirmed', 'rejected', 'approved', 'corrected', 'refused', 'never sent'] as const

interface Life {
  readonly fate: (typeof FATES)[number]
  /** What is asked of each account, in 1e-6 units; null where it is not asked. */
  readonly asked: readonly (bigint | null)[]
  /** What a confirm says was spent in the account without a limit. */
  readonly actual: bigint
}

const LIVES = 150
const LIMITS: readonly (bigint | null)[] = [60_000_000n, 25_000_001n, null]

const amounts = fc.bigInt({ min: 0n, max: 5_000_000n })
const lives = fc.array(
  fc.record<Life>({
    fate: fc.constantFrom(...FATES),
    asked: fc.tuple(...LIMITS.map(() => fc.option(amounts))).filter((asked) => asked.some((amount) => amount !== null)),
    actual: fc.bigInt({ min: 0n, max: 2n ** 66n }),
  }),
  { minLength: LIVES, maxLength: LIVES },
)

/** One run on a store; runs after another have accounts and decisions of their own. */
class Race {
  readonly accounts: readonly AccountKey[]
  readonly #store: Store
  readonly #pen: GroupPen
  readonly #run: number
  #isOver = false

  constructor(store: Store, pen: GroupPen, run: number) {
    this.#store = store
    this.#pen = pen
    this.#run = run
    this.accounts = LIMITS.map((_, i) => accountOf({ policy_id: idOf('pol', 10 * run + i) }))
  }

  /** Lives all lives at once, and looks at the accounts meanwhile. */
  async live(all: readonly Life[]): Promise<void> {
    const lived = Promise.all(all.map((life, i) => this.#live(life, 1000 * this.#run + i)))
    const ended = lived.finally(() => {
      this.#isOver = true
    })
    await Promise.all([ended, this.#watch()])
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      const balances = await this.#store.ledger.balances(this.accounts)
      for (const [i, limit] of LIMITS.entries()) {
        const { spent, reserved } = balances[i] as Balance
        if (limit !== null) expect(spent + reserved).toBeLessThanOrEqual(limit)
        expect(reserved).toBeGreaterThanOrEqual(0n)
      }
      await nextTurn()
    }
  }

  async #live(life: Life, number: number): Promise<void> {
    const isReview = life.fate === 'approved'
    const review = reviewOf(number)
    if (isReview) await this.#pen.write(createOf(review))
    const demands = this.accounts.flatMap((account, i) => {
      const [amount, limit] = [life.asked[i] ?? null, LIMITS[i] ?? null]
      return amount === null ? [] : [{ account, amount, limit }]
    })
    const { reservation } = await this.#store.ledger.reserve({
      decision_id: review.id,
      version: isReview ? 1 : 0,
      demands,
    })
    if (reservation === null) return
    const postings = demands.map(({ account, amount }) => heldIn(account, amount))
    const decision = decisionOf(number, { postings })
    try {
      if (life.fate === 'never sent') return
      if (isReview) await this.#pen.write(updateOf(review, { status: 'approved', postings }, reservation))
      else if (life.fate === 'refused') await this.#refused(number, postings, reservation)
      else await this.#pen.write(createOf(decision, requestOf(number), reservation))
    } finally {
      await this.#store.ledger.release(reservation)
    }
    await this.#end(life, decision)
  }

  async #end(life: Life, decision: ReturnType<typeof decisionOf>): Promise<void> {
    const { postings } = decision
    const spent = postings.map(({ account, amount }) =>
      spentIn(account, BigInt(amount), this.#spentOf(life, account, amount)),
    )
    const given = postings.map(({ account, amount }) => releasedIn(account, BigInt(amount)))
    const confirmed = updateOf(decision, { status: 'confirmed', postings: spent })
    if (life.fate === 'confirmed' || life.fate === 'corrected') await this.#pen.write(confirmed)
    if (life.fate === 'corrected') await this.#pen.write(updateOf(confirmed.decision, { postings: given }))
    if (life.fate === 'rejected') await this.#pen.write(updateOf(decision, { status: 'rejected', postings: given }))
  }

  /** Above its reservation only where nothing limits it. */
  #spentOf({ actual }: Life, account: AccountKey, amount: string): bigint {
    const isLimited = LIMITS[this.accounts.indexOf(account)] !== null
    return isLimited && actual > BigInt(amount) ? BigInt(amount) : actual
  }

  /** A mutation at a version that the decision does not have. */
  async #refused(number: number, postings: readonly Posting[], reservation: string): Promise<void> {
    const change = updateOf(decisionOf(number, { version: 7 }), { postings }, reservation)
    await expect(this.#pen.write(change)).rejects.toThrow(ConflictError)
  }
}

/** What all decisions of a store count for in each account. */
async function sumsOf(store: Store, accounts: readonly AccountKey[]): Promise<readonly Balance[]> {
  const filter = { agents: null, now: instant(0) }
  const decisions = await walk(200, (page) => store.decisions.list(filter, page))
  const postings = decisions.flatMap(({ decision }) => decision.postings)
  return accounts.map(({ policy_id }) => {
    const own = postings.filter(({ account }) => account.policy_id === policy_id)
    const sum = (of: 'spent' | 'reserved') => own.reduce((total, posting) => total + BigInt(posting[of]), 0n)
    return { spent: sum('spent'), reserved: sum('reserved') }
  })
}

export const PARALLEL_LEDGER_CASES: readonly StoreCase[] = [
  {
    title: 'ends with what the decisions count for, however many are made, settled and given up at once',
    async run({ store, reopen }) {
      const pen = await GroupPen.of(store)
      let runs = 0
      const all: AccountKey[] = []
      await fc.assert(
        fc.asyncProperty(lives, async (drawn) => {
          const race = new Race(store, pen, ++runs)
          await race.live(drawn)
          const sums = await sumsOf(store, race.accounts)
          expect(await store.ledger.balances(race.accounts)).toEqual(sums)
          const stored = race.accounts.map((account, i) => ({
            ...account,
            spent: String(sums[i]?.spent),
            reserved: String(sums[i]?.reserved),
          }))
          expect(await store.accounts.get(race.accounts)).toEqual(stored)
          all.push(...race.accounts)
        }),
        { numRuns: stress.ledger_races, endOnFailure: true },
      )
      const reopened = await reopen()
      expect(await reopened.ledger.balances(all)).toEqual(await sumsOf(reopened, all))
    },
  },
]
