/**
 * One run of servers whose every word with the store passes a relay that breaks connections by seed. In the end nothing
 * is done twice, nothing acknowledged is missing, and budgets are the sum over decisions.
 */
import { isDeepStrictEqual } from 'node:util'
import { leafHash } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { openMongoStore } from '#server/stores/mongodb/open'
import { micro } from '../api/ledger-model/reference-money.js'
import { everyItem } from '../api/refunds.js'
import { type RunningServer, runServer, TestClock } from '../running-server.js'
import { Database, MongoStore } from '../stores/mongodb/inside.js'
import { openRelay, type Relay } from '../stores/mongodb/relay.js'
import type { Cuts } from '../stores/mongodb/relay-cuts.js'
import { BrokenPromiseError } from './ledger-run.js'
import { type Known, RelayLoad } from './relay-load.js'
import { settledAccounts } from './replicas/replicas.js'

export interface RelayRunOptions {
  /** Of a database for this run alone. */
  readonly url: string
  readonly cuts: Cuts
  readonly random: () => number
  readonly operations: number
  /** Breaks the store on purpose. */
  readonly sabotage?: (database: Database) => void
}

const CALLERS = 16
const SERVERS = 2
const BREAK_DOWN_EVERY = 1500
const LONGEST_RUN_MS = 1_200_000

// biome-ignore lint/suspicious/noExplicitAny: answers are whatever JSON came; tests assert what they read of it
type AnyJson = any

/** @throws BrokenPromiseError */
export async function runBehindRelay(options: RelayRunOptions): Promise<RelayLoad> {
  const { cuts, random, operations } = options
  const relays: Relay[] = []
  const servers: RunningServer[] = []
  try {
    for (let i = 0; i < SERVERS; i += 1) {
      const relay = await openRelay(options.url, cuts.fateOf)
      relays.push(relay)
      servers.push(await startServer(relay.hurriedUrl, options))
    }
    const load = new RelayLoad({ servers, random, operations, budgetLimit: 20 * operations })
    await load.begin()
    await Promise.all([load.run(CALLERS), breakDown(load, relays, operations), watchLimits(load, servers)])
    cuts.isFaulty = false
    expectThat(cuts.weak.size === 0, `not of a majority: ${[...cuts.weak]}`)
    await new Verification(options.url, servers, load).verify()
    return load
  } finally {
    cuts.isFaulty = false
    await Promise.allSettled(servers.map((server) => server.stop()))
    await Promise.all(relays.map((relay) => relay.close()))
  }
}

/** Now and then a server loses the store altogether, until somebody was told so. */
async function breakDown(load: RelayLoad, relays: readonly Relay[], operations: number): Promise<void> {
  for (let at = BREAK_DOWN_EVERY / 2; at < operations; at += BREAK_DOWN_EVERY) {
    const relay = relays[Math.floor(at / BREAK_DOWN_EVERY) % relays.length]
    await until(`${at} answers`, () => load.isOver || load.operations > at || undefined, LONGEST_RUN_MS)
    const { refused } = load
    relay?.kill()
    await until('an answer that there is no store', () => load.isOver || load.refused > refused || undefined)
    relay?.revive()
  }
}

/** No budget is ever seen above its limit. */
async function watchLimits(load: RelayLoad, servers: readonly RunningServer[]): Promise<void> {
  const look = async (server: RunningServer) => {
    const { status, body } = await server.call('GET', '/v1/budgets')
    if (status === 200) for (const budget of body.data) expectWithinLimit(budget, load)
    return load.isOver || undefined
  }
  await Promise.all(servers.map((server) => until('the end', () => look(server), LONGEST_RUN_MS)))
}

function expectWithinLimit({ policy_id, spent, reserved, limit }: AnyJson, { corrected }: RelayLoad): void {
  const excess = micro(spent) + micro(reserved) - micro(limit)
  expectThat(excess <= corrected, `the budget ${policy_id} is over its limit by ${excess}, ${corrected} was corrected`)
}

const clock = new TestClock()

async function startServer(mongodbUrl: string, { sabotage, url }: RelayRunOptions): Promise<RunningServer> {
  const limits = { rateLimitPerSecond: 0, maxOpenReviews: 1_000_000, maxOpenReviewsPerKey: 1_000_000 }
  const settings = { ...limits, issuer: 'https://decisions.example', mongodbUrl }
  if (sabotage === undefined) return runServer({ clock, settings })
  const openStore = async () => {
    await (await openMongoStore({ url })).close()
    const database = await Database.open(mongodbUrl)
    sabotage(database)
    return new MongoStore(database, Date.now)
  }
  return runServer({ clock, settings, parts: { openStore } })
}

class Verification {
  readonly #url: string
  readonly #servers: readonly RunningServer[]
  readonly #load: RelayLoad

  constructor(url: string, servers: readonly RunningServer[], load: RelayLoad) {
    this.#url = url
    this.#servers = servers
    this.#load = load
  }

  async verify(): Promise<void> {
    // What was left half done a moment ago is not older than half a minute yet: else it is finished by itself.
    const store = await openMongoStore({ url: this.#url })
    await store.recover(0)
    await store.close()
    for (const server of this.#servers) {
      await this.#verifyDecisions(server)
      await this.#verifyBudgets(server)
    }
    await this.#verifyLog()
    await this.#verifyReplays()
    await this.#verifyAccounts()
  }

  async #verifyDecisions(server: RunningServer): Promise<void> {
    const found = new Map<string, AnyJson>()
    for (const decision of await everyItem(server, '/v1/decisions')) {
      const { marker } = decision.context
      const twin = found.get(marker)
      expectThat(twin === undefined, `one call made both ${twin?.id} and ${decision.id}`)
      expectThat(this.#load.decisions.has(marker), `${decision.id} was never acknowledged`)
      found.set(marker, decision)
    }
    for (const [marker, { answer }] of this.#load.decisions)
      expectThat(
        isSame(answer, found.get(marker)),
        `acknowledged was ${textOf(answer)}, there is ${textOf(found.get(marker))}`,
      )
  }

  async #verifyBudgets(server: RunningServer): Promise<void> {
    const expected = this.#sums()
    for (const budget of await everyItem(server, '/v1/budgets')) {
      const { policy_id, agent_id, spent, reserved } = budget
      const name = `${policy_id} ${agent_id ?? ''}`
      const sum = expected.get(name) ?? { spent: 0n, reserved: 0n }
      expected.delete(name)
      expectThat(
        micro(spent) === sum.spent && micro(reserved) === sum.reserved,
        `the budget ${name} has ${spent} + ${reserved}, its decisions ${sum.spent} + ${sum.reserved}`,
      )
      expectWithinLimit(budget, this.#load)
    }
    expectThat(expected.size === 0, `there is no budget for ${[...expected.keys()]}`)
  }

  /** What the answers add up to. */
  #sums(): Map<string, { spent: bigint; reserved: bigint }> {
    const sums = new Map<string, { spent: bigint; reserved: bigint }>()
    const [reading] = this.#load.policies
    for (const { answer } of this.#load.decisions.values())
      for (const { policy_id, amount, reserved: isReserved } of answer.budgets) {
        if (!isReserved) continue
        const name = `${policy_id} ${policy_id === reading ? '' : answer.agent_id}`
        const sum = sums.get(name) ?? { spent: 0n, reserved: 0n }
        sums.set(name, sum)
        if (answer.status === 'authorized' || answer.status === 'approved') sum.reserved += micro(amount)
        if (answer.status === 'confirmed') sum.spent += micro(policy_id === reading ? answer.outcome.amount : amount)
      }
    return sums
  }

  async #verifyReplays(): Promise<void> {
    const { acknowledged } = this.#load
    const queue = acknowledged.entries()
    const replay = async () => {
      for (const [i, asked] of queue) {
        const server = this.#servers[i % this.#servers.length] as RunningServer
        const { status, headers, body } = await this.#load.send(server, asked)
        const isReplayed =
          status === asked.status && body.id === asked.id && headers.get('idempotent-replayed') === 'true'
        expectThat(isReplayed, `${asked.path} was answered ${asked.id}, and again ${status} ${JSON.stringify(body)}`)
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, replay))
  }

  async #verifyLog(): Promise<void> {
    const entries: AuditEntry[] = await everyItem(this.#servers[0] as RunningServer, '/v1/audit')
    const logs = grouped(entries, ({ log }) => log)
    for (const [log, own] of logs) {
      const indexes = own.map(({ index }) => index).sort((one, other) => one - other)
      expectThat(
        indexes.every((index, i) => index === i),
        `the log ${log} has a gap: ${indexes}`,
      )
    }
    for (const { leaf, ...entry } of entries)
      expectThat(leafHash(entry) === leaf, `the entry ${entry.id} has another leaf`)
    // Alarms are told by the feed, a little after the call that caused them.
    const alarms = entries.filter(({ type }) => type.startsWith('budget.'))
    const thresholds = alarms
      .filter(({ type }) => type === 'budget.threshold')
      .map(({ subject, agent_id, data }) => `${data.threshold} % of ${subject} of ${agent_id} since ${data.starts_at}`)
    expectThat(new Set(thresholds).size === thresholds.length, `an alarm was raised twice: ${thresholds}`)
    const bySubject = grouped(
      entries.filter((entry) => !alarms.includes(entry)),
      ({ subject }) => subject,
    )
    const typesOf = (id: string) => (bySubject.get(id) ?? []).map(({ type }) => type).sort()
    for (const { answer, entries: told } of this.#known())
      expectThat(
        String(typesOf(answer.id)) === String([...told].sort()),
        `the log tells ${typesOf(answer.id)} of ${answer.id}, answered were ${told}`,
      )
  }

  #known(): readonly Known[] {
    return [...this.#load.decisions.values(), ...this.#load.others.values()]
  }

  /** By what is stored, once the servers are gone. */
  async #verifyAccounts(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.started.stop(0)))
    const { stored, recomputed } = await settledAccounts(this.#url)
    expectThat(isDeepStrictEqual(stored, recomputed), `stored is ${textOf(stored)}, recomputed ${textOf(recomputed)}`)
    const database = await Database.open(this.#url)
    const marked = await database.accounts.countDocuments({ marked_ms: { $ne: null } })
    const unsettled = await database.decisions.countDocuments({ unsettled: { $exists: true } })
    await database.close()
    expectThat(marked === 0 && unsettled === 0, `${marked} accounts are marked, ${unsettled} decisions unsettled`)
  }
}

function grouped<T>(items: readonly T[], nameOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(nameOf(item))
    if (group === undefined) groups.set(nameOf(item), [item])
    else group.push(item)
  }
  return groups
}

function isSame(answer: AnyJson, found: AnyJson): boolean {
  return answer.id === found?.id && answer.status === found.status && isDeepStrictEqual(answer.outcome, found.outcome)
}

function textOf(value: object): string {
  return JSON.stringify(value)
}

function expectThat(holds: boolean, otherwise: string): void {
  if (!holds) throw new BrokenPromiseError(otherwise)
}
