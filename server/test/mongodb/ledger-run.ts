/**
 * One run of the protocol that keeps budgets exact: several stores on one database decide, approve, settle and recover at
 * once, by seed, while their connections are cut and some of them die. In the end everything has to add up.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { AccountKey } from '@countersign/contract'
import { MutationWriter } from '#server/mutation-writer'
import type { Posting, StoredDecision } from '#server/ports/store/documents'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { BudgetBusyError } from '#server/ports/store/ledger'
import { type Change, ConflictError } from '#server/ports/store/store'
import { openMongoStore } from '#server/stores/mongodb/open'
import {
  accountOf,
  createOf,
  DAY,
  decisionOf,
  heldIn,
  idempotencyOf,
  idOf,
  instant,
  releasedIn,
  requestOf,
  reviewOf,
  spentIn,
  updateOf,
  walk,
} from '../store-suite/index.js'
import { Database, MongoStore } from '../stores/mongodb/inside.js'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'
import { type Fate, openRelay, type Relay } from '../stores/mongodb/relay.js'

export interface RunOptions {
  readonly seed: number
  /** The name of a database for this run alone. */
  readonly database: string
  /** Breaks a rule of the protocol on purpose. */
  readonly sabotage?: (database: Database) => void
  /** False: nothing is cut and nobody dies; commands still overtake one another. */
  readonly isFaulty?: boolean
  readonly tasks?: number
}

export interface RunReport {
  readonly acknowledged: number
  readonly killed: number
  readonly counts: ReadonlyMap<string, number>
}

/** Something does not add up. */
export class BrokenPromiseError extends Error {
  override readonly name = 'BrokenPromiseError'
}

const LIMIT = 20n
/** A process that is so far ahead takes all others for dead. */
const FAR_AHEAD_MS = 120_000

type Task = 'decide' | 'review' | 'approve' | 'settle' | 'race' | 'recover'

/** What the processes are busy with, in shares of all they do: one of these by seed. */
const MIXES: readonly Readonly<Record<Task, number>>[] = [
  { decide: 0.35, review: 0.15, approve: 0.15, settle: 0.15, race: 0.12, recover: 0.08 },
  // Recovery meets approvals that are on their way.
  { decide: 0.05, review: 0.25, approve: 0.35, settle: 0.02, race: 0.03, recover: 0.3 },
  // Processes settle what others settle.
  { decide: 0.3, review: 0.02, approve: 0.02, settle: 0.2, race: 0.3, recover: 0.16 },
]

interface Member {
  readonly store: MongoStore
  readonly database: Database
  readonly writer: MutationWriter
  readonly relay: Relay
  isAlive: boolean
}

export async function runLedger(options: RunOptions): Promise<RunReport> {
  const run = new Run(options)
  try {
    return await run.run()
  } finally {
    await run.end()
  }
}

class Run {
  readonly #options: RunOptions
  readonly #random: () => number
  readonly #accounts: readonly AccountKey[]
  readonly #members: Member[] = []
  readonly #counts = new Map<string, number>()
  readonly #acknowledged = new Map<string, number>()
  readonly #overdrawn = new Set<string>()
  /** Numbers of decisions that may be there. */
  readonly #made: number[] = []
  readonly #keys = new Map<string, string[]>()
  readonly #mix: Readonly<Record<Task, number>>
  readonly #cutRate: number
  readonly #killRate: number
  #hasFaults = true
  #entries = 0
  #killed = 0

  constructor(options: RunOptions) {
    this.#options = options
    this.#random = mulberry32(options.seed)
    this.#accounts = [...Array(1 + this.#below(3)).keys()].map((i) => accountOf({ policy_id: idOf('pol', i) }))
    this.#mix = MIXES[options.seed % MIXES.length] as Readonly<Record<Task, number>>
    const isFaulty = options.isFaulty ?? true
    this.#cutRate = isFaulty ? ([0, 0.02, 0.06][this.#below(3)] as number) : 0
    this.#killRate = isFaulty ? ([0, 0.02, 0.04][this.#below(3)] as number) : 0
  }

  async run(): Promise<RunReport> {
    const { tasks = 60 } = this.#options
    await Promise.all([1, 2, 3].map(() => this.#join()))
    const going: Promise<void>[] = []
    for (let number = 1; number <= tasks; number += 1) {
      going.push(this.#task(number))
      if (this.#random() < 0.5) await pause(this.#below(6))
      if (this.#hasFaults && this.#random() < this.#killRate) await this.#kill()
    }
    await Promise.all(going)
    this.#hasFaults = false
    await this.#quiet()
    await this.#verify()
    return { acknowledged: this.#acknowledged.size, killed: this.#killed, counts: this.#counts }
  }

  async end(): Promise<void> {
    this.#hasFaults = false
    for (const member of this.#members) await this.#bury(member)
    await dropDatabase(this.#options.database)
  }

  async #join(): Promise<Member> {
    let isOpen = false
    const relay = await openRelay(mongoUrl(this.#options.database), () => (isOpen ? this.#fate() : 'passes'))
    const database = await Database.open(relay.url)
    isOpen = true
    await (await openMongoStore({ url: mongoUrl(this.#options.database) })).close()
    this.#options.sabotage?.(database)
    const store = new MongoStore(database, Date.now)
    const writer = new MutationWriter(store, { next: (prefix) => idOf(prefix, ++this.#entries) }, 3000)
    const member = { store, database, writer, relay, isAlive: true }
    this.#members.push(member)
    return member
  }

  #fate(): Fate {
    if (!this.#hasFaults) return 'passes'
    const draw = this.#random()
    if (draw < this.#cutRate) return 'answer cut'
    if (draw < 1.5 * this.#cutRate) return 'lost'
    if (draw < 2 * this.#cutRate) return 'late'
    return draw < 0.3 ? 'delayed' : 'passes'
  }

  async #kill(): Promise<void> {
    const alive = this.#members.filter(({ isAlive }) => isAlive)
    const victim = alive[this.#below(alive.length)] as Member
    this.#killed += 1
    void this.#bury(victim)
    await this.#join()
  }

  async #bury(member: Member): Promise<void> {
    if (!member.isAlive) return
    member.isAlive = false
    member.relay.kill()
    for (const [what, count] of member.relay.counts) this.#counts.set(what, (this.#counts.get(what) ?? 0) + count)
    await member.database.close()
    await member.relay.close()
  }

  async #task(number: number): Promise<void> {
    const alive = this.#members.filter(({ isAlive }) => isAlive)
    const member = alive[this.#below(alive.length)] as Member
    const tasks: Readonly<Record<Task, () => Promise<void>>> = {
      decide: () => this.#decide(member, number),
      review: () => this.#review(member, number),
      approve: () => this.#approve(member, this.#pick()),
      settle: () => this.#settle(member, this.#pick()),
      race: () => this.#race(alive, this.#pick()),
      recover: () => this.#recover(member),
    }
    try {
      await tasks[this.#drawTask()]()
    } catch (error) {
      throwUnlessRefused(error)
    }
  }

  #drawTask(): Task {
    let draw = this.#random()
    for (const [task, share] of Object.entries(this.#mix) as [Task, number][]) {
      if (draw < share) return task
      draw -= share
    }
    return 'recover'
  }

  /** One of those made lately, more likely than not. */
  #pick(): number {
    const latest = this.#made.slice(-6)
    const among = this.#random() < 0.7 ? latest : this.#made
    return among[this.#below(among.length)] ?? 0
  }

  #asks(): readonly { account: AccountKey; amount: bigint; limit: bigint }[] {
    const asked = this.#accounts.filter(() => this.#random() < 0.7)
    const chosen = asked.length > 0 ? asked : this.#accounts.slice(0, 1)
    return chosen.map((account) => ({ account, amount: BigInt(1 + this.#below(6)), limit: LIMIT }))
  }

  async #decide(member: Member, number: number): Promise<void> {
    this.#made.push(number)
    const demands = this.#asks()
    const id = idOf('dec', number)
    const { reservation } = await member.store.ledger.reserve({ decision_id: id, version: 0, demands })
    const postings = demands.map(({ account, amount }) => heldIn(account, amount))
    const decision =
      reservation === null ? decisionOf(number, { effect: 'deny', status: 'denied' }) : decisionOf(number, { postings })
    const key = `key-${this.#below(20)}`
    const idempotency = this.#random() < 0.5 ? idempotencyOf(id, { key, expires_at: instant(DAY) }) : null
    await this.#write(member, createOf(decision, requestOf(number), reservation), reservation, idempotency)
    if (idempotency !== null) this.#keys.set(key, [...(this.#keys.get(key) ?? []), id])
  }

  async #review(member: Member, number: number): Promise<void> {
    this.#made.push(number)
    await this.#write(member, createOf(reviewOf(number), requestOf(number)), null, null)
  }

  async #approve(member: Member, number: number): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const found = await member.store.decisions.get(idOf('dec', number))
      if (found?.decision.status !== 'awaiting_review') return
      const { decision } = found
      const demands = this.#asks()
      const { reservation } = await member.store.ledger.reserve({
        decision_id: decision.id,
        version: decision.version,
        demands,
      })
      if (reservation === null) return
      const postings = demands.map(({ account, amount }) => heldIn(account, amount))
      try {
        await this.#write(member, updateOf(decision, { status: 'approved', postings }, reservation), reservation, null)
        return
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error
      }
    }
  }

  async #settle(member: Member, number: number): Promise<void> {
    const found = await member.store.decisions.get(idOf('dec', number))
    if (found === null) return
    const { decision } = found
    if (decision.status === 'awaiting_review')
      return this.#random() < 0.3
        ? this.#write(member, updateOf(decision, { status: 'declined' }), null, null)
        : undefined
    if (decision.postings.length === 0) return
    const kind = (['confirm', 'less', 'more', 'reject'] as const)[this.#below(4)]
    const isOver = kind === 'more' && this.#random() < 0.2
    const postings = decision.postings.map(({ account, amount }): Posting => {
      const held = BigInt(amount)
      if (kind === 'reject') return releasedIn(account, held)
      return spentIn(account, held, kind === 'less' ? held - 1n : isOver ? held + 1n : held)
    })
    // From a correction that raises what was given back.
    if (decision.status !== 'authorized' && decision.status !== 'approved') this.#overdrawn.add(decision.id)
    if (isOver) this.#overdrawn.add(decision.id)
    const status = kind === 'reject' ? 'rejected' : 'confirmed'
    await this.#write(member, updateOf(decision, { status, postings }), null, null)
  }

  /** Several processes settle one decision at once. */
  async #race(members: readonly Member[], number: number): Promise<void> {
    const ends = await Promise.allSettled(members.map((member) => this.#settle(member, number)))
    for (const end of ends) if (end.status === 'rejected') throwUnlessRefused(end.reason)
  }

  async #recover(member: Member): Promise<void> {
    const ahead = this.#random() < 0.3 ? FAR_AHEAD_MS : 0
    const sweeper = ahead === 0 ? member.store : new MongoStore(member.database, () => Date.now() + ahead)
    await sweeper.recover(0)
  }

  async #write(
    { store, writer }: Member,
    change: Extract<Change, { kind: `decision.${string}` }>,
    reservation: string | null,
    idempotency: ReturnType<typeof idempotencyOf> | null,
  ): Promise<void> {
    const { id, agent_id, version } = change.decision
    const entry = {
      at: instant(0),
      type: 'decision.created',
      actor: null,
      subject: id,
      agent_id,
      data: { version },
    } as const
    try {
      await writer.write({ entry, change, idempotency })
    } catch (error) {
      if (error instanceof StoreUnavailableError) await error.settled
      if (reservation !== null) await store.ledger.release(reservation)
      throw error
    }
    this.#acknowledged.set(id, Math.max(version, this.#acknowledged.get(id) ?? 0))
  }

  /** Recovers until nothing is left to recover. */
  async #quiet(): Promise<void> {
    for (const member of this.#members) await this.#bury(member)
    const { store, database } = await this.#join()
    const sweeper = new MongoStore(database, () => Date.now() + FAR_AHEAD_MS)
    for (let round = 0; round < 4; round += 1) await sweeper.recover(0)
    await store.openLog()
  }

  async #verify(): Promise<void> {
    const { store, database } = this.#members.at(-1) as Member
    const filter = { agents: null, now: instant(0) }
    const decisions = (await walk(200, (page) => store.decisions.list(filter, page))).map(({ decision }) => decision)
    await this.#verifyAccounts(store, database, decisions)
    const entries = await walk(200, (page) => store.audit.list({}, page))
    for (const { id, version } of decisions) {
      const versions = entries.filter(({ subject }) => subject === id).map(({ data }) => Number(data.version))
      const expected = [...Array(version).keys()].map((i) => i + 1)
      this.#expect(
        same(
          versions.sort((a, b) => a - b),
          expected,
        ),
        `the log has versions ${versions} of ${id} at ${version}`,
      )
    }
    for (const [id, version] of this.#acknowledged) {
      const found = decisions.find((decision) => decision.id === id)
      this.#expect((found?.version ?? 0) >= version, `${id} was acknowledged at ${version} and is at ${found?.version}`)
    }
    for (const log of new Set(entries.map((entry) => entry.log))) {
      const indexes = entries.filter((entry) => entry.log === log).map(({ index }) => index)
      this.#expect(
        same(
          indexes.sort((a, b) => a - b),
          [...indexes.keys()],
        ),
        `the log ${log} has a gap: ${indexes}`,
      )
    }
    const unfinished = await database.logs.find({ 'group.0': { $exists: true } }).toArray()
    this.#expect(unfinished.length === 0, `groups are left unfinished: ${JSON.stringify(unfinished)}`)
    for (const [key, ids] of this.#keys) this.#expect(ids.length <= 1, `${key} was taken by ${ids}`)
  }

  async #verifyAccounts(store: MongoStore, database: Database, decisions: readonly StoredDecision[]): Promise<void> {
    const postings = decisions.flatMap(({ postings }) => postings)
    const balances = await store.ledger.balances(this.#accounts)
    const isOver = this.#overdrawn.size > 0
    for (const [i, account] of this.#accounts.entries()) {
      const own = postings.filter((posting) => posting.account.policy_id === account.policy_id)
      const sum = (of: 'spent' | 'reserved') => own.reduce((total, posting) => total + BigInt(posting[of]), 0n)
      const { spent, reserved } = balances[i] as (typeof balances)[0]
      this.#expect(
        spent === sum('spent') && reserved === sum('reserved'),
        `account ${i} has ${spent} + ${reserved}, its decisions ${sum('spent')} + ${sum('reserved')}`,
      )
      this.#expect(isOver || spent + reserved <= LIMIT, `account ${i} is over its limit: ${spent} + ${reserved}`)
    }
    const marked = await database.accounts.find({ marked_ms: { $ne: null } }).toArray()
    this.#expect(marked.length === 0, `marks are left: ${JSON.stringify(marked.map(({ marks }) => marks))}`)
  }

  #expect(holds: boolean, otherwise: string): void {
    if (!holds) throw new BrokenPromiseError(`seed ${this.#options.seed}: ${otherwise}`)
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }
}

/** A refusal promises nothing. */
function throwUnlessRefused(error: unknown): void {
  const isRefusal =
    error instanceof StoreUnavailableError || error instanceof ConflictError || error instanceof BudgetBusyError
  if (!isRefusal) throw error
}

function same(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((value, i) => value === other[i])
}

/** Numbers from 0 to 1, the same for a seed. */
function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
