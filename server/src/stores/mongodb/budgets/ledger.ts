import { randomBytes } from 'node:crypto'
import type { AccountKey } from '@countersign/contract'
import { thisMoment } from '../../../concurrency/moment.js'
import { accountText } from '../../../ports/store/accounts.js'
import type {
  Balance,
  BudgetDemand,
  Ledger,
  ReservationAnswer,
  ReservationRequest,
} from '../../../ports/store/ledger.js'
import { fence, insertVoid } from '../collections/fences.js'
import type { Database } from '../connection/database.js'
import { accountId, textId } from './account-id.js'
import type { Hold, Reservation } from './reservation.js'
import type { Settlements } from './settlements.js'

/** Stores every reservation as a mark in its account's document, so that all processes see it. */
export class MongoLedger implements Ledger {
  /** No name of another process is ever repeated here. */
  readonly #process = randomBytes(9).toString('base64url')
  #given = 0
  readonly #open = new Map<string, Reservation>()

  constructor(
    private readonly database: Database,
    private readonly settlements: Settlements,
    private readonly nowMs: () => number,
  ) {}

  async reserve({ decision_id, version, demands, call }: ReservationRequest): Promise<ReservationAnswer> {
    this.database.assertOpen()
    const rev = version === 0 ? null : await this.#revOf(decision_id)
    const attempt = `${this.#process}-${this.#given++}`
    const begun = thisMoment()
    const holds: Hold[] = []
    const balances = new Map<BudgetDemand, Balance>()
    const asked = demands.map((demand) => ({
      demand,
      text: accountText(demand.account),
      id: accountId(demand.account),
    }))
    // Sorted, so that two calls that ask for the same accounts meet at the first of them.
    for (const { demand, text, id } of asked.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
      const { amount, limit } = demand
      const mark = {
        decision: decision_id,
        rev,
        spent: '0',
        reserved: String(amount),
        n: 0,
        at_ms: this.nowMs(),
        ...(call !== undefined && { call: textId(call) }),
      }
      const { isDone, balance } = await this.settlements
        .ask(text, { kind: 'reserve', attempt, mark, limit })
        .catch(async (error: unknown) => {
          await this.#giveBack(attempt, [...holds, { id, text, amount }])
          throw error
        })
      if (!isDone) {
        await this.#giveBack(attempt, holds)
        return { reservation: null, balances: await this.balances(demands.map(({ account }) => account)) }
      }
      balances.set(demand, balance)
      holds.push({ id, text, amount })
    }
    this.#open.set(attempt, { attempt, decision: decision_id, rev, holds, begun, isSent: false })
    return { reservation: attempt, balances: demands.map((demand) => balances.get(demand) as Balance) }
  }

  async release(attempt: string): Promise<void> {
    const reservation = this.#open.get(attempt)
    if (reservation === undefined) return
    this.#open.delete(attempt)
    // Recovery does whatever fails here.
    if (reservation.isSent && !(await this.#end(reservation).catch(() => false))) return
    await this.#giveBack(attempt, reservation.holds)
  }

  async balances(accounts: readonly AccountKey[]): Promise<readonly Balance[]> {
    const ids = accounts.map(accountId)
    const byId = await this.database.findByIds(this.database.accounts, ids, ['spent', 'reserved'])
    return ids.map((id) => {
      const { spent = '0', reserved = '0' } = byId.get(id) ?? {}
      return { spent: BigInt(spent), reserved: BigInt(reserved) }
    })
  }

  /** Returns an open reservation; null for any other name. */
  find(attempt: string | null): Reservation | null {
    return attempt === null ? null : (this.#open.get(attempt) ?? null)
  }

  /** A record has committed it: from now on the decision counts. */
  forget(attempt: string): void {
    this.#open.delete(attempt)
  }

  /** Releases every reservation that no record will commit. */
  async releaseAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((attempt) => this.release(attempt)))
  }

  /** Makes sure that its record can no longer become durable. False when it already has. */
  async #end({ decision, attempt }: Reservation): Promise<boolean> {
    for (;;) {
      const found = await this.database.call(() =>
        this.database.decisions.findOne({ _id: decision }, { projection: { attempt: 1, rev: 1, is_void: 1 } }),
      )
      if (found?.attempt === attempt) return false
      const { decisions } = this.database
      const isFenced = found === null ? insertVoid(this.database, decision) : fence(this.database, decisions, found)
      if (await isFenced) return true
    }
  }

  async #giveBack(attempt: string, holds: readonly Hold[]): Promise<void> {
    await Promise.allSettled(holds.map(({ text }) => this.settlements.ask(text, { kind: 'remove', attempt })))
  }

  async #revOf(decision: string): Promise<number | null> {
    const found = await this.database.call(() =>
      this.database.decisions.findOne({ _id: decision }, { projection: { rev: 1 } }),
    )
    return found?.rev ?? null
  }
}
