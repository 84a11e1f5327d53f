/** Finds in the log that a budget has reached a threshold, or that a decision was refused because of it. */
import { hash } from 'node:crypto'
import { type AccountKey, type AuditEntry, type DecisionBudget, type JsonObject, toMicro } from '@countersign/contract'
import type { Clock } from '../ports/clock.js'
import type { StoredAccount } from '../ports/store/documents.js'
import type { FeedStore, Positions } from '../ports/store/feed.js'
import { isOfForm } from '../use-cases/budgets/policy-budget.js'
import { viewAccount } from '../use-cases/budgets/view.js'
import { Reader, type ReaderDeps } from './reader.js'

/** An alarm to write to the log, at most once while its name is taken. */
export interface BudgetAlarm {
  readonly type: 'budget.threshold' | 'budget.exceeded'
  /** Names the account and the threshold. */
  readonly name: string
  /** The name is taken until this time. */
  readonly until: string
  readonly policyId: string
  readonly agentId: string | null
  readonly data: JsonObject
}

export interface BudgetAlarmsDeps extends ReaderDeps {
  readonly store: ReaderDeps['store'] & Pick<FeedStore, 'accounts' | 'decisions' | 'policies'>
  readonly clock: Clock
  /** Writes an alarm to the log, unless its name is taken. */
  readonly raise: (alarm: BudgetAlarm) => Promise<void>
}

/** The name of the reader that finds the alarms. */
export const BUDGET_ALARMS_READER = 'budget_alarms'

/** In percent of the limit. */
const THRESHOLDS = [50, 80, 100] as const
const EXCEEDED_EVERY_MS = 60_000
/** A decision can be corrected for 30 days after it expired, in the account of its own period. */
const AFTER_PERIOD_MS = 65 * 86_400_000
const NEVER = '9999-12-31T23:59:59.999Z'
const BATCH = 500
/** How long one turn may work. */
const SHARE_MS = 2000
/** After a crash, everything read since the last save is read again: the names of its alarms are taken then. */
const SAVE_EVERY_MS = 1000
/** How many taken names are remembered, so that they are not tried again. */
const MAX_KNOWN = 10_000

/** A budget account as an entry reports it. */
interface Touched {
  readonly key: AccountKey
  readonly unit: string
  readonly limit: number
  /** The sum of spent and reserved at the time, in units of 1e-6. */
  readonly used: bigint
}

/** Finds alarms, as a reader of the logs. */
export class BudgetAlarms {
  readonly #reader: Reader
  readonly #known = new Map<string, string>()
  #fence: number | null = null
  /** The positions after everything that was checked. */
  #positions: Positions = {}
  #isSaved = true
  #savedAtMs = Number.NEGATIVE_INFINITY

  constructor(private readonly deps: BudgetAlarmsDeps) {
    this.#reader = new Reader(deps, BUDGET_ALARMS_READER)
  }

  /** Reads to the end of the logs, or a share of the way. */
  async turn(): Promise<void> {
    const untilMs = this.deps.monotonicMs() + SHARE_MS
    while (await this.#hold()) {
      const { entries, positions } = await this.#reader.read(BATCH, this.#positions)
      for (const entry of entries) await this.#look(entry)
      this.#positions = positions
      this.#isSaved &&= entries.length === 0
      await this.#saveWhenDue()
      if (entries.length === 0 || this.deps.monotonicMs() > untilMs) return
    }
  }

  async #hold(): Promise<boolean> {
    const held = await this.#reader.hold()
    if (held === null || held.fence === this.#fence) return held !== null
    this.#fence = held.fence
    this.#positions = held.positions ?? {}
    this.#isSaved = true
    return true
  }

  async #saveWhenDue(): Promise<void> {
    const nowMs = this.deps.monotonicMs()
    if (this.#isSaved || nowMs - this.#savedAtMs < SAVE_EVERY_MS) return
    await this.#reader.save({ positions: this.#positions })
    this.#isSaved = true
    this.#savedAtMs = nowMs
  }

  async #look(entry: AuditEntry): Promise<void> {
    switch (entry.type) {
      case 'decision.created':
      case 'decision.approved':
        for (const { row, touched } of rowsOf(entry)) {
          if (row.reserved) await this.#reached(entry, touched)
          else if (entry.data.reason_code === 'budget_exceeded' && isRefusing(row))
            await this.#raise(entry, touched, 'budget.exceeded', { amount: row.amount })
        }
        return
      case 'decision.confirmed':
      case 'decision.corrected':
        for (const touched of await this.#grownBy(entry)) await this.#reached(entry, touched)
        return
    }
  }

  async #reached(entry: AuditEntry, touched: Touched): Promise<void> {
    for (const threshold of THRESHOLDS)
      if (touched.used > 0n && touched.used * 100n >= toMicro(touched.limit) * BigInt(threshold))
        await this.#raise(entry, touched, 'budget.threshold', { threshold })
  }

  /**
   * Returns the accounts in which the decision takes more than before. A confirmed amount may be above its reservation.
   */
  async #grownBy({ subject, data }: AuditEntry): Promise<readonly Touched[]> {
    const committed = (data.committed ?? []) as unknown as readonly Committed[]
    if (!committed.some(hasGrown)) return []
    const found = await this.deps.store.decisions.get(subject)
    const grown = (found?.decision.postings ?? []).filter((_, i) => {
      const row = committed[i]
      return row !== undefined && hasGrown(row)
    })
    const accounts = await this.deps.store.accounts.get(grown.map(({ account }) => account))
    const touched = await Promise.all(accounts.map((account) => this.#asWrittenNow(account)))
    return touched.filter((one) => one !== null)
  }

  /** Applies the limit of the policy's newest revision; null when that has another budget, or none. */
  async #asWrittenNow({ spent, reserved, ...key }: StoredAccount): Promise<Touched | null> {
    const { items } = await this.deps.store.policies.listRevisions(key.policy_id, { limit: 1, after: null })
    const budget = items[0]?.document.budget
    if (budget === undefined || !isOfForm(key, budget)) return null
    return { key, unit: budget.unit, limit: budget.limit, used: BigInt(spent) + BigInt(reserved) }
  }

  async #raise(
    { subject }: AuditEntry,
    { key, unit, limit }: Touched,
    type: BudgetAlarm['type'],
    about: JsonObject,
  ): Promise<void> {
    const now = this.deps.clock.now()
    const name = hash('sha256', JSON.stringify([key, about.threshold ?? null]), 'base64url')
    if ((this.#known.get(name) ?? '') > now.toISOString()) return
    const [account] = await this.deps.store.accounts.get([key])
    if (account === undefined) return
    const { deleted_at: _, ...shown } = viewAccount(account, { budget: { limit, unit }, deletedAt: null })
    const until = type === 'budget.exceeded' ? after(now.toISOString(), EXCEEDED_EVERY_MS) : endOf(shown.resets_at)
    // The period ended long ago, and the entry is read late: its name can no longer be taken.
    if (until <= now.toISOString()) return
    await this.deps.raise({
      type,
      name,
      until,
      policyId: key.policy_id,
      agentId: key.agent_id,
      data: { ...shown, ...about, decision_id: subject },
    })
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.set(name, until)
  }
}

/** The amounts that a decision takes from a budget, now and before. */
interface Committed {
  readonly amount: number
  /** Absent in entries of older releases. */
  readonly was?: number
  readonly reserved?: number
}

/** Entries of older releases do not tell. */
function hasGrown({ amount, was, reserved = 0 }: Committed): boolean {
  return was !== undefined && toMicro(amount) > toMicro(was) + toMicro(reserved)
}

interface AccountData {
  readonly agent_id: string | null
  readonly limit: number
}

/**
 * Returns the budgets that a decision asked, with their accounts. Entries of older releases do not name the accounts.
 */
function rowsOf({ data }: AuditEntry): readonly { readonly row: DecisionBudget; readonly touched: Touched }[] {
  const accounts = (data.accounts ?? []) as unknown as readonly AccountData[]
  const rows = (data.budgets ?? []) as unknown as readonly DecisionBudget[]
  return accounts.flatMap(({ agent_id, limit }, i) => {
    const row = rows[i]
    if (row === undefined) return []
    const { policy_id, unit, period, starts_at, remaining } = row
    const key = { policy_id, unit: unit.toLowerCase(), period, agent_id, starts_at }
    return [{ row, touched: { key, unit, limit, used: toMicro(limit) - toMicro(remaining) } }]
  })
}

function isRefusing({ amount, remaining }: DecisionBudget): boolean {
  return amount !== null && toMicro(amount) > toMicro(remaining)
}

/** When a threshold of an account can be reached again: once no decision of its period can be corrected. */
function endOf(resetsAt: string | null): string {
  return resetsAt === null ? NEVER : after(resetsAt, AFTER_PERIOD_MS)
}

function after(time: string, milliseconds: number): string {
  return new Date(Date.parse(time) + milliseconds).toISOString()
}
