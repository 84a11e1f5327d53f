import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AccountKey } from '@countersign/contract'
import { expect } from 'vitest'
import {
  type Balance,
  type BudgetDemand,
  CallInProgressError,
  type ReservationAnswer,
} from '#server/ports/store/ledger'
import type { Change, Store } from '#server/ports/store/store'
import {
  accountOf,
  createOf,
  decisionOf,
  heldIn,
  idOf,
  LogPen,
  releasedIn,
  requestOf,
  reviewOf,
  spentIn,
  updateOf,
} from './documents.js'
import { type StoreCase, WHOLE } from './store-case.js'

const ACCOUNT = accountOf()
const OTHER = accountOf({ policy_id: idOf('pol', 2) })
const THIRD = accountOf({ period: 'total', starts_at: null })

function reserve(store: Store, number: number, ...demands: readonly BudgetDemand[]): Promise<ReservationAnswer> {
  return store.ledger.reserve({ decision_id: idOf('dec', number), version: 0, demands })
}

function demandOf(amount: bigint, limit: bigint | null, account = ACCOUNT): BudgetDemand {
  return { account, amount, limit }
}

/** Reserves what there is room for, and names the reservation. */
async function taken(store: Store, number: number, ...demands: readonly BudgetDemand[]): Promise<string> {
  const { reservation } = await reserve(store, number, ...demands)
  if (reservation === null) expect.unreachable('There was room.')
  return reservation
}

async function balanceOf(store: Store, account: AccountKey = ACCOUNT): Promise<Balance | undefined> {
  return (await store.ledger.balances([account]))[0]
}

/** The balance, and what of it is durable: the same while nothing is open. */
async function expectSettled(store: Store, account: AccountKey, spent: bigint, reserved: bigint): Promise<void> {
  expect(await balanceOf(store, account)).toEqual({ spent, reserved })
  const stored = { ...account, spent: String(spent), reserved: String(reserved) }
  expect(await store.accounts.get([account])).toEqual([stored])
}

function balance(spent: bigint, reserved: bigint): Balance {
  return { spent, reserved }
}

/** Records that meet a conflict with what the case has written before, each with a reservation. */
const REFUSED: readonly (readonly [what: string, change: (reservation: string) => Change])[] = [
  [
    'a decision whose id is taken',
    (reservation) => createOf(decisionOf(1, { postings: [heldIn(ACCOUNT, 5n)] }), requestOf(1), reservation),
  ],
  [
    'a decision at another version',
    (reservation) => updateOf(decisionOf(1, { version: 3 }), { postings: [heldIn(ACCOUNT, 5n)] }, reservation),
  ],
  [
    'a decision that is not there',
    (reservation) => updateOf(decisionOf(9), { postings: [heldIn(ACCOUNT, 5n)] }, reservation),
  ],
]

const refusedCases = REFUSED.map(
  ([what, changeOf]): StoreCase => ({
    title: `counts nothing of ${what}, nor of what is behind it`,
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      await pen.commit(createOf(decisionOf(1, { postings: [heldIn(ACCOUNT, 100n)] })))
      const before = await taken(store, 2, demandOf(20n, null))
      const refused = await taken(store, 1, demandOf(5n, null))
      const behind = await taken(store, 3, demandOf(3n, null))
      const group = [
        createOf(decisionOf(2, { postings: [heldIn(ACCOUNT, 20n)] }), requestOf(2), before),
        changeOf(refused),
        createOf(decisionOf(3, { postings: [heldIn(ACCOUNT, 3n)] }), requestOf(3), behind),
      ] as const
      expect(await pen.commit(...group)).toEqual({ written: 1, conflict: 'version' })
      expect(await balanceOf(store)).toEqual(balance(0n, 128n))
      expect(await store.accounts.get([ACCOUNT])).toMatchObject([{ spent: '0', reserved: '120' }])
      for (const reservation of [before, refused]) await store.ledger.release(reservation)
      expect(await balanceOf(store)).toEqual(balance(0n, 123n))
      expect(await pen.commit(group[2])).toEqual({ written: 1, conflict: null })
      await expectSettled(store, ACCOUNT, 0n, 123n)
      await expectSettled(await reopen(), ACCOUNT, 0n, 123n)
    },
  }),
)

export const LEDGER_CASES: readonly StoreCase[] = [
  ...refusedCases,
  {
    title: 'does not refuse a call for what it has reserved itself',
    async run({ store }) {
      const ask = (number: number, amount: bigint, call?: string) =>
        store.ledger.reserve({
          decision_id: idOf('dec', number),
          version: 0,
          demands: [demandOf(amount, 100n)],
          ...(call !== undefined && { call }),
        })
      const first = (await ask(1, 60n, 'one')).reservation as string
      await expect(ask(2, 60n, 'one')).rejects.toThrow(CallInProgressError)
      for (const call of ['other', undefined])
        expect(await ask(3, 60n, call)).toEqual({ reservation: null, balances: [balance(0n, 60n)] })
      // With room for both there is no reason to wait.
      const second = (await ask(4, 40n, 'one')).reservation as string
      await store.ledger.release(first)
      await expect(ask(5, 61n, 'one')).rejects.toThrow(CallInProgressError)
      await store.ledger.release(second)
      expect((await ask(6, 100n, 'one')).reservation).not.toBeNull()
    },
  },
  {
    title: 'has zeros in accounts that nobody has used',
    async run({ store }) {
      expect(await store.ledger.balances([ACCOUNT, THIRD])).toEqual([balance(0n, 0n), balance(0n, 0n)])
      expect(await store.accounts.get([ACCOUNT, THIRD])).toEqual([
        { ...ACCOUNT, spent: '0', reserved: '0' },
        { ...THIRD, spent: '0', reserved: '0' },
      ])
      expect(await store.ledger.balances([])).toEqual([])
      expect(await store.accounts.list({ agents: null }, WHOLE)).toEqual({ items: [], next: null })
    },
  },
  {
    title: 'takes every amount of a reservation or none, and says what each account has afterwards',
    async run({ store }) {
      const first = await reserve(store, 1, demandOf(40n, 100n), demandOf(1n, 1n, OTHER))
      expect(first.balances).toEqual([balance(0n, 40n), balance(0n, 1n)])
      const demands = [demandOf(30n, 100n), demandOf(1n, 1n, OTHER), demandOf(5n, null, THIRD)]
      const standing = [balance(0n, 40n), balance(0n, 1n), balance(0n, 0n)]
      expect(await reserve(store, 2, ...demands)).toEqual({ reservation: null, balances: standing })
      expect(await reserve(store, 2, ...demands.toReversed())).toEqual({
        reservation: null,
        balances: standing.toReversed(),
      })
      expect(await store.ledger.balances([ACCOUNT, OTHER, THIRD])).toEqual(standing)
      await store.ledger.release(first.reservation as string)
      const second = await reserve(store, 2, ...demands)
      expect(second.reservation).not.toBeNull()
      expect(second.balances).toEqual([balance(0n, 30n), balance(0n, 1n), balance(0n, 5n)])
    },
  },
  {
    title: 'has room up to the limit exactly, and always without one',
    async run({ store }) {
      const pen = await LogPen.of(store)
      await pen.commit(createOf(decisionOf(1, { postings: [spentIn(ACCOUNT, 400_000n)] })))
      const hasRoom = async (amount: bigint, limit: bigint | null) =>
        (await reserve(store, 2, demandOf(amount, limit))).reservation !== null
      expect(await hasRoom(600_001n, 1_000_000n)).toBe(false)
      expect(await hasRoom(599_999n, 1_000_000n)).toBe(true)
      expect(await hasRoom(2n, 1_000_000n)).toBe(false)
      expect(await hasRoom(1n, 1_000_000n)).toBe(true)
      expect(await hasRoom(1n, 1_000_000n)).toBe(false)
      expect(await hasRoom(0n, 1_000_000n)).toBe(true)
      expect(await hasRoom(0n, 999_999n)).toBe(false)
      expect(await hasRoom(5n, null)).toBe(true)
      expect(await balanceOf(store)).toEqual(balance(400_000n, 600_005n))
    },
  },
  {
    title: 'counts exactly, also what no double and no 64 bits can hold',
    async run({ store, reopen }) {
      const huge = 2n ** 71n + 1n
      const pen = await LogPen.of(store)
      const reservation = await taken(store, 1, demandOf(huge, huge))
      expect((await reserve(store, 2, demandOf(1n, huge))).reservation).toBeNull()
      const first = decisionOf(1, { postings: [heldIn(ACCOUNT, huge)] })
      const second = decisionOf(2, { postings: [spentIn(ACCOUNT, huge, huge + 2n)] })
      await pen.commit(createOf(first, requestOf(1), reservation), createOf(second))
      await expectSettled(store, ACCOUNT, huge + 2n, huge)
      const reopened = await reopen()
      await expectSettled(reopened, ACCOUNT, huge + 2n, huge)
      expect((await reserve(reopened, 3, demandOf(1n, 2n * huge + 2n))).reservation).toBeNull()
      expect((await reserve(reopened, 3, demandOf(1n, 2n * huge + 3n))).reservation).not.toBeNull()
    },
  },
  {
    title: 'counts an open reservation against others before its mutation is written',
    async run({ store }) {
      const first = await taken(store, 1, demandOf(60n, 100n))
      const refused = await reserve(store, 2, demandOf(41n, 100n))
      expect(refused).toEqual({ reservation: null, balances: [balance(0n, 60n)] })
      await taken(store, 3, demandOf(40n, 100n))
      expect(await balanceOf(store)).toEqual(balance(0n, 100n))
      expect(await store.accounts.get([ACCOUNT])).toMatchObject([{ spent: '0', reserved: '0' }])
      await store.ledger.release(first)
      expect(await balanceOf(store)).toEqual(balance(0n, 40n))
    },
  },
  {
    title: 'gives the last room to one of those who ask for it at once',
    async run({ store }) {
      await taken(store, 0, demandOf(90n, 100n))
      const answers = await Promise.all(
        [...Array(20).keys()].map((number) => reserve(store, 1 + number, demandOf(7n, 100n), demandOf(1n, 50n, OTHER))),
      )
      expect(answers.filter(({ reservation }) => reservation !== null)).toHaveLength(1)
      expect(await store.ledger.balances([ACCOUNT, OTHER])).toEqual([balance(0n, 97n), balance(0n, 1n)])
    },
  },
  {
    title: 'counts a decision once at every moment while its mutation is written, and no less and no more afterwards',
    async run({ store }) {
      const pen = await LogPen.of(store)
      for (let number = 1; number <= 20; number += 1) {
        const reservation = await taken(store, number, demandOf(5n, 1000n), demandOf(2n, null, OTHER))
        const postings = [heldIn(ACCOUNT, 5n), heldIn(OTHER, 2n)]
        let isWritten = false
        const written = pen.commit(createOf(decisionOf(number, { postings }), requestOf(number), reservation))
        const watched = written.finally(() => {
          isWritten = true
        })
        // When an expectation below fails, nobody waits for it any more.
        watched.catch(() => {})
        const held = BigInt(number)
        while (!isWritten) {
          expect(await balanceOf(store)).toEqual(balance(0n, 5n * held))
          expect((await reserve(store, 0, demandOf(1n, 5n * held))).reservation).toBeNull()
          await nextTurn()
        }
        expect(await watched).toEqual({ written: 1, conflict: null })
        await expectSettled(store, ACCOUNT, 0n, 5n * held)
        await expectSettled(store, OTHER, 0n, 2n * held)
        await store.ledger.release(reservation)
        await expectSettled(store, ACCOUNT, 0n, 5n * held)
      }
    },
  },
  {
    title: 'commits a reservation with a later mutation of a decision',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const review = reviewOf(1)
      await pen.commit(createOf(review))
      await expectSettled(store, ACCOUNT, 0n, 0n)
      const { reservation } = await store.ledger.reserve({
        decision_id: review.id,
        version: review.version,
        demands: [demandOf(8n, 8n)],
      })
      await pen.commit(updateOf(review, { status: 'approved', postings: [heldIn(ACCOUNT, 8n)] }, reservation))
      await expectSettled(store, ACCOUNT, 0n, 8n)
      await store.ledger.release(reservation ?? '')
      await expectSettled(await reopen(), ACCOUNT, 0n, 8n)
    },
  },
  {
    title: 'moves accounts by what a mutation changes of the postings before it',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const [first, second] = [
        decisionOf(1, { postings: [heldIn(ACCOUNT, 10n), heldIn(OTHER, 1n)] }),
        decisionOf(2, { postings: [heldIn(ACCOUNT, 5n)] }),
      ]
      await pen.commit(createOf(first), createOf(second))
      const confirm = updateOf(first, {
        status: 'confirmed',
        postings: [spentIn(ACCOUNT, 10n, 7n), spentIn(OTHER, 1n)],
      })
      await pen.commit(confirm)
      await expectSettled(store, ACCOUNT, 7n, 5n)
      await expectSettled(store, OTHER, 1n, 0n)
      const same = updateOf(confirm.decision, { redeemed: { by: idOf('key', 1), at: first.evaluated_at } })
      await pen.commit(same)
      await expectSettled(store, ACCOUNT, 7n, 5n)
      const corrected = updateOf(same.decision, { postings: [spentIn(ACCOUNT, 10n, 12n), releasedIn(OTHER, 1n)] })
      await pen.commit(corrected)
      await expectSettled(store, ACCOUNT, 12n, 5n)
      await expectSettled(store, OTHER, 0n, 0n)
      const moved = updateOf(corrected.decision, { postings: [spentIn(THIRD, 3n)] })
      await pen.commit(moved, updateOf(second, { postings: [] }))
      await expectSettled(store, ACCOUNT, 0n, 0n)
      await expectSettled(await reopen(), THIRD, 3n, 0n)
    },
  },
  {
    title: 'moves an account by all mutations of a group, each building on the one before',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const [first, second] = [1, 2].map((number) => decisionOf(number, { postings: [heldIn(ACCOUNT, 10n)] }))
      if (first === undefined || second === undefined) return expect.unreachable()
      const confirmed = updateOf(first, { status: 'confirmed', postings: [spentIn(ACCOUNT, 10n, 4n)] })
      const corrected = updateOf(confirmed.decision, { postings: [spentIn(ACCOUNT, 10n, 6n)] })
      const rejected = updateOf(second, { status: 'rejected', postings: [releasedIn(ACCOUNT, 10n)] })
      const third = createOf(decisionOf(3, { postings: [heldIn(ACCOUNT, 1n), heldIn(OTHER, 2n)] }))
      expect(await pen.commit(createOf(first), createOf(second), confirmed, rejected, third, corrected)).toEqual({
        written: 6,
        conflict: null,
      })
      await expectSettled(store, ACCOUNT, 6n, 1n)
      const reopened = await reopen()
      await expectSettled(reopened, ACCOUNT, 6n, 1n)
      await expectSettled(reopened, OTHER, 0n, 2n)
    },
  },
  {
    title: 'gives a reservation back once that no mutation committed',
    async run({ store, reopen }) {
      const kept = await taken(store, 1, demandOf(10n, null))
      const given = await taken(store, 2, demandOf(4n, null), demandOf(1n, null, OTHER))
      for (let time = 0; time < 3; time += 1) {
        await store.ledger.release(given)
        expect(await store.ledger.balances([ACCOUNT, OTHER])).toEqual([balance(0n, 10n), balance(0n, 0n)])
      }
      await store.ledger.release('a name that was never given')
      await store.ledger.release('')
      expect(await balanceOf(store)).toEqual(balance(0n, 10n))
      await Promise.all([1, 2, 3].map(() => store.ledger.release(kept)))
      expect(await balanceOf(store)).toEqual(balance(0n, 0n))
      expect(await balanceOf(await reopen())).toEqual(balance(0n, 0n))
    },
  },
  {
    title: 'reserves nothing when asked for nothing, and gives it back like anything else',
    async run({ store }) {
      const names = []
      for (const amount of [0n, 5n, 0n]) names.push(await taken(store, 1, demandOf(amount, 5n)))
      const [first, second, third] = names as [string, string, string]
      expect(await balanceOf(store)).toEqual(balance(0n, 5n))
      for (const [name, left] of [[second, 0n] as const, [first, 0n] as const]) {
        await store.ledger.release(name)
        expect(await balanceOf(store)).toEqual(balance(0n, left))
      }
      await taken(store, 2, demandOf(3n, 5n))
      await store.ledger.release(third)
      expect(await balanceOf(store)).toEqual(balance(0n, 3n))
    },
  },
  {
    title: 'keeps what a mutation committed when its reservation is released, at any time after',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const decision = decisionOf(1, { postings: [heldIn(ACCOUNT, 10n)] })
      const reservation = await taken(store, 1, demandOf(10n, 10n))
      await pen.commit(createOf(decision, requestOf(1), reservation))
      for (let time = 0; time < 2; time += 1) {
        await store.ledger.release(reservation)
        await expectSettled(store, ACCOUNT, 0n, 10n)
      }
      await pen.commit(updateOf(decision, { postings: [spentIn(ACCOUNT, 10n, 9n)] }))
      await store.ledger.release(reservation)
      await expectSettled(store, ACCOUNT, 9n, 0n)
      await expectSettled(await reopen(), ACCOUNT, 9n, 0n)
    },
  },
  {
    title: 'gives no other reservation back with the one whose mutation is written',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const [first, second] = [await taken(store, 1, demandOf(10n, null)), await taken(store, 2, demandOf(10n, null))]
      expect(first).not.toBe(second)
      await pen.commit(createOf(decisionOf(1, { postings: [heldIn(ACCOUNT, 10n)] }), requestOf(1), first))
      expect(await balanceOf(store)).toEqual(balance(0n, 20n))
      await store.ledger.release(second)
      await expectSettled(store, ACCOUNT, 0n, 10n)
    },
  },
  {
    title: 'counts the postings of a mutation that names no open reservation',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const released = await taken(store, 1, demandOf(10n, null))
      await store.ledger.release(released)
      await pen.commit(createOf(decisionOf(1, { postings: [heldIn(ACCOUNT, 10n)] }), requestOf(1), released))
      await expectSettled(store, ACCOUNT, 0n, 10n)
      await pen.commit(createOf(decisionOf(2, { postings: [spentIn(ACCOUNT, 1n)] })))
      await expectSettled(store, ACCOUNT, 1n, 10n)
    },
  },
  {
    title: 'keeps over a restart what decisions hold and gives open reservations back',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const stood = await taken(store, 1, demandOf(10n, null))
      const open = await taken(store, 2, demandOf(5n, null), demandOf(5n, null, OTHER))
      await pen.commit(createOf(decisionOf(1, { postings: [heldIn(ACCOUNT, 10n)] }), requestOf(1), stood))
      expect(await balanceOf(store)).toEqual(balance(0n, 15n))
      const reopened = await reopen()
      await expectSettled(reopened, ACCOUNT, 0n, 10n)
      await expectSettled(reopened, OTHER, 0n, 0n)
      const fresh = await taken(reopened, 3, demandOf(1n, 11n))
      expect([stood, open]).not.toContain(fresh)
      for (const reservation of [open, stood]) await reopened.ledger.release(reservation)
      expect(await balanceOf(reopened)).toEqual(balance(0n, 11n))
    },
  },
  {
    title: 'tells accounts apart by policy, unit, period, agent and start',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const accounts = [
        ACCOUNT,
        accountOf({ policy_id: idOf('pol', 2) }),
        accountOf({ unit: 'eu' }),
        accountOf({ unit: 'eur2' }),
        accountOf({ period: 'weekly' }),
        accountOf({ agent_id: 'agent:1' }),
        accountOf({ agent_id: 'Agent:1' }),
        accountOf({ agent_id: 'agent:1', starts_at: '2026-11-22T00:00:00.000Z' }),
        accountOf({ starts_at: '2026-11-22T00:00:00.000Z' }),
        accountOf({ period: 'total', starts_at: null }),
        accountOf({ period: 'total', starts_at: null, agent_id: 'agent:1' }),
      ]
      const amounts = accounts.map((_, i) => 2n ** BigInt(i))
      const reservation = await taken(
        store,
        1,
        ...accounts.map((account, i) => demandOf(amounts[i] ?? 0n, null, account)),
      )
      const expected = amounts.map((amount) => balance(0n, amount))
      expect(await store.ledger.balances(accounts)).toEqual(expected)
      const postings = accounts.map((account, i) => heldIn(account, amounts[i] ?? 0n))
      await pen.commit(createOf(decisionOf(1, { postings }), requestOf(1), reservation))
      expect(await store.ledger.balances(accounts)).toEqual(expected)
      const stored = accounts.map((account, i) => ({ ...account, spent: '0', reserved: String(amounts[i]) }))
      const reopened = await reopen()
      expect(await reopened.accounts.get(accounts)).toStrictEqual(stored)
      expect(await reopened.accounts.get(accounts.toReversed())).toStrictEqual(stored.toReversed())
      expect((await reopened.accounts.list({ agents: null }, WHOLE)).items).toHaveLength(accounts.length)
    },
  },
]
