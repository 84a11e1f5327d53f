import { randomBytes } from 'node:crypto'
import type { AccountKey } from '@countersign/contract'
import { accountText } from '../../ports/store/accounts.js'
import type { StoredAccount } from '../../ports/store/documents.js'
import {
  type Balance,
  type BudgetDemand,
  CallInProgressError,
  type Ledger,
  type ReservationAnswer,
  type ReservationRequest,
} from '../../ports/store/ledger.js'
import type { Mutation } from '../../ports/store/store.js'
import type { Connection } from './driver.js'
import { readAccount } from './tables/accounts.js'
import { hasAuditEntry } from './tables/audit-entries.js'

interface Reservation {
  readonly call?: string | undefined
  readonly holds: readonly Hold[]
}

/** One amount of an open reservation. */
interface Hold {
  readonly text: string
  readonly amount: bigint
}

/** An account with an open reservation. */
interface HeldAccount {
  readonly account: AccountKey
  /** The balance on the disk; null when it must be read again. */
  durable: Balance | null
  reservations: number
  amount: bigint
}

/** How many accounts without an open reservation are kept in memory. */
const MAX_IDLE = 10_000

/**
 * The ledger of one process that owns its data: the balances on the disk, plus the open reservations, which are only in
 * memory. Every step is synchronous, so that nothing comes between a look at an account and its consequence.
 *
 * A balance counts each decision once: while its mutation is being written, by the reservation (the totals in memory
 * are the old ones); from the step that processes the writer's answer on, by the new totals. So an account with an open
 * reservation is never read from the disk while a mutation that names the reservation may be reaching it.
 */
export class SqliteLedger implements Ledger {
  /** No name of an earlier process is ever repeated. */
  readonly #process = randomBytes(9).toString('base64url')
  #given = 0
  readonly #reservations = new Map<string, Reservation>()
  /** The number of open reservations by call. */
  readonly #calls = new Map<string, number>()
  readonly #held = new Map<string, HeldAccount>()
  /** The balances on the disk of accounts without an open reservation; the most recently used one is last. */
  readonly #idle = new Map<string, Balance>()

  /** @param read runs a read on the store, or throws StoreUnavailableError. */
  constructor(private readonly read: <T>(read: (db: Connection) => T) => T) {}

  async reserve({ demands, call }: ReservationRequest): Promise<ReservationAnswer> {
    const answer = this.read((db) => {
      const before = demands.map(({ account }) => this.#balance(db, account))
      const hasRoom = demands.every((demand, i) => fits(demand, before[i] as Balance))
      if (!hasRoom) return { reservation: null, balances: before }
      return {
        reservation: this.#hold(demands, before, call),
        balances: demands.map(({ account }) => this.#balance(db, account)),
      }
    })
    if (answer.reservation === null && call !== undefined && this.#calls.has(call)) throw new CallInProgressError()
    return answer
  }

  async release(reservation: string): Promise<void> {
    this.#end(reservation)
  }

  async balances(accounts: readonly AccountKey[]): Promise<readonly Balance[]> {
    return this.read((db) => accounts.map((account) => this.#balance(db, account)))
  }

  /**
   * Call this before mutations are sent. Until the commit is answered, the accounts of their reservations are not read
   * from the disk.
   *
   * @throws StoreUnavailableError
   */
  expect(mutations: readonly Mutation[]): void {
    this.read((db) => {
      for (const reservation of reservationsOf(mutations)) {
        for (const { text } of this.#reservations.get(reservation)?.holds ?? []) {
          const held = this.#held.get(text) as HeldAccount
          held.durable ??= readBalance(db, held.account)
        }
      }
    })
  }

  /** Applies a durable commit: the new accounts, and the reservations that its mutations name. */
  takeOver(written: readonly Mutation[], accounts: readonly StoredAccount[]): void {
    for (const account of accounts) this.#remember(accountText(account), balanceOf(account))
    for (const reservation of reservationsOf(written)) this.#end(reservation)
  }

  /** Call this after a rejected commit, whose effect on the disk is final: it reads that effect. */
  doubt(mutations: readonly Mutation[]): void {
    this.#idle.clear()
    for (const held of this.#held.values()) held.durable = null
    try {
      const written = this.read((db) => mutations.filter(({ entry }) => entry !== null && hasAuditEntry(db, entry)))
      for (const reservation of reservationsOf(written)) this.#end(reservation)
    } catch {
      // While the disk cannot be read nothing is reserved either, and a release follows.
    }
  }

  #balance(db: Connection, account: AccountKey): Balance {
    const text = accountText(account)
    const held = this.#held.get(text)
    if (held === undefined) {
      const durable = this.#idle.get(text) ?? readBalance(db, account)
      this.#rememberIdle(text, durable)
      return durable
    }
    held.durable ??= readBalance(db, account)
    return { spent: held.durable.spent, reserved: held.durable.reserved + held.amount }
  }

  /** Takes every amount; `before` are the present balances. Cannot fail halfway. */
  #hold(demands: readonly BudgetDemand[], before: readonly Balance[], call: string | undefined): string {
    this.#given += 1
    const reservation = `${this.#process}/${this.#given}`
    const holds = demands.map(({ account, amount }, i) => {
      const text = accountText(account)
      let held = this.#held.get(text)
      if (held === undefined) {
        held = { account, durable: before[i] as Balance, reservations: 0, amount: 0n }
        this.#held.set(text, held)
        this.#idle.delete(text)
      }
      held.reservations += 1
      held.amount += amount
      return { text, amount }
    })
    this.#reservations.set(reservation, { call, holds })
    if (call !== undefined) this.#calls.set(call, (this.#calls.get(call) ?? 0) + 1)
    return reservation
  }

  #end(reservation: string): void {
    const { call, holds } = this.#reservations.get(reservation) ?? { holds: [] }
    this.#reservations.delete(reservation)
    if (call !== undefined) this.#endCall(call)
    for (const { text, amount } of holds) {
      const held = this.#held.get(text) as HeldAccount
      held.reservations -= 1
      held.amount -= amount
      if (held.reservations > 0) continue
      this.#held.delete(text)
      if (held.durable !== null) this.#rememberIdle(text, held.durable)
    }
  }

  #endCall(call: string): void {
    const others = (this.#calls.get(call) as number) - 1
    if (others === 0) this.#calls.delete(call)
    else this.#calls.set(call, others)
  }

  #remember(text: string, durable: Balance): void {
    const held = this.#held.get(text)
    if (held === undefined) this.#rememberIdle(text, durable)
    else held.durable = durable
  }

  #rememberIdle(text: string, durable: Balance): void {
    this.#idle.delete(text)
    this.#idle.set(text, durable)
    if (this.#idle.size > MAX_IDLE) for (const oldest of this.#idle.keys()) return void this.#idle.delete(oldest)
  }
}

function fits({ amount, limit }: BudgetDemand, { spent, reserved }: Balance): boolean {
  return limit === null || spent + reserved + amount <= limit
}

function readBalance(db: Connection, account: AccountKey): Balance {
  return balanceOf(readAccount(db, account))
}

function balanceOf({ spent, reserved }: StoredAccount): Balance {
  return { spent: BigInt(spent), reserved: BigInt(reserved) }
}

function reservationsOf(mutations: readonly Mutation[]): readonly string[] {
  return mutations.flatMap(({ change }) =>
    'reservation' in change && change.reservation !== null ? [change.reservation] : [],
  )
}
