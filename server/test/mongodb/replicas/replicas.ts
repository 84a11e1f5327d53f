/** Servers as they are shipped, each in a process of its own and with a data directory of its own, on one database. */
import { randomBytes } from 'node:crypto'
import type { AccountKey } from '@countersign/contract'
import { until } from '@countersign/testkit'
import type { Store } from '#server/ports/store/store'
import { openMongoStore } from '#server/stores/mongodb/open'
import type { Answer } from '../../process/call.js'
import { endChildren } from '../../process/child.js'
import { nameOf, recompute, type StoredSpending } from '../../process/recomputed-accounts.js'
import { newDirectory, removeDirectories, ShippedServer } from '../../process/shipped-server.js'
import { dropDatabase, mongoUrl } from '../../stores/mongodb/open-mongo-store.js'

export const ISSUER = 'https://decisions.example'

/** Allows what a load asks for, within a budget that it does not reach. */
export const POLICY = {
  name: 'shared',
  rules: [{ action: 'pay.create', effect: 'allow' }],
  budget: { limit: 1_000_000, unit: 'EUR', period: 'total' },
}

const databases: string[] = []

/** The URL of a database of its own, which `removeReplicas` drops. */
export function newDatabase(): string {
  const name = `countersign-replicas-${randomBytes(6).toString('hex')}`
  databases.push(name)
  return mongoUrl(name)
}

/** For `afterEach`. */
export async function removeReplicas(): Promise<void> {
  await endChildren()
  removeDirectories()
  for (const name of databases.splice(0)) await dropDatabase(name)
}

export interface ReplicaOptions {
  readonly url: string
  readonly dataDir?: string
  readonly env?: Readonly<Record<string, string>>
}

export function startReplica({ url, dataDir = newDirectory(), env }: ReplicaOptions): Promise<ShippedServer> {
  // What a test finds open at its end was not ended by the clock meanwhile.
  const limits = { MAX_OPEN_REVIEWS: '1000000', MAX_OPEN_REVIEWS_PER_KEY: '1000000', DECISION_TTL_SECONDS: '3600' }
  return ShippedServer.start({ dataDir, env: { MONGODB_URL: url, ISSUER, ...limits, ...env } })
}

export type Three = readonly [ShippedServer, ShippedServer, ShippedServer]

export async function startThree(url: string): Promise<Three> {
  return [await startReplica({ url }), await startReplica({ url }), await startReplica({ url })]
}

/** Makes a policy at the first, and waits until all know it. */
export async function writeSharedPolicy(
  [first, ...others]: readonly [ShippedServer, ...ShippedServer[]],
  policy: object,
): Promise<string> {
  const headers = { 'Idempotency-Key': 'shared-policy' }
  const { id } = await until('the policy', async () => {
    const { status, body } = await first.call('POST', '/v1/policies', { body: policy, headers })
    return status === 503 ? undefined : done(Promise.resolve({ status, body }))
  })
  for (const server of others)
    await until('all to know the policy', async () =>
      (await server.call('GET', `/v1/policies/${id}`)).status === 200 ? true : undefined,
    )
  return id
}

/** A call that has to succeed. */
export async function done(calling: Promise<Pick<Answer, 'status' | 'body'>>): Promise<Answer['body']> {
  const { status, body } = await calling
  if (status >= 300) throw new Error(`It answered ${status}: ${JSON.stringify(body)}`)
  return body
}

/**
 * Finishes what dead processes left half done, as one that goes on does after 30 s, and gives what the accounts promise and
 * what they come to when all decisions are added up.
 */
export async function settledAccounts(url: string): Promise<{ readonly stored: object; readonly recomputed: object }> {
  const store = await openMongoStore({ url, nowMs: () => Date.now() + 60_000 })
  try {
    await store.recover(0)
    const accounts = await everyItem((page) => store.accounts.list({ agents: null }, page))
    const balances = await store.ledger.balances(accounts)
    const stored = balances.map(({ spent, reserved }, i) => [
      nameOf({ ...(accounts[i] as AccountKey) }),
      { spent: String(spent), reserved: String(reserved) },
    ])
    const now = new Date().toISOString()
    const decisions = await everyItem((page) => store.decisions.list({ agents: null, now }, page))
    const recomputed = recompute(decisions.map(({ decision }) => decision as unknown as StoredSpending))
    return { stored: Object.fromEntries(stored), recomputed }
  } finally {
    await store.close()
  }
}

/** What is promised of the account of `POLICY`, in millionths, as it is now. */
export async function promisedOf(url: string, policy: string): Promise<bigint> {
  const store = await openMongoStore({ url })
  const account = { policy_id: policy, unit: 'eur', period: 'total', agent_id: null, starts_at: null } as const
  const [balance] = await store.ledger.balances([account]).finally(() => store.close())
  return (balance?.spent ?? 0n) + (balance?.reserved ?? 0n)
}

type List<Item> = (
  page: Parameters<Store['policies']['list']>[0],
) => Promise<{ items: readonly Item[]; next: string | null }>

async function everyItem<Item>(list: List<Item>): Promise<Item[]> {
  const items: Item[] = []
  for (let after: string | null = null; ; ) {
    const page = await list({ limit: 200, after })
    items.push(...page.items)
    if (page.next === null) return items
    after = page.next
  }
}
