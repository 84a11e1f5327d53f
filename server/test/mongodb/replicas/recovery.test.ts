/** A replica that dies between the reservation and the record: another one finishes what it left, and nothing drifts. */
import { SEED, seededRandom, until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { micro } from '../../api/ledger-model/reference-money.js'
import { startDriven } from '../../process/driven-server.js'
import { newDirectory, type ShippedServer } from '../../process/shipped-server.js'
import { type Command, type Fate, openRelay, type Relay } from '../../stores/mongodb/relay.js'
import { expectWholeOutcome } from './outcome.js'
import { ReplicaLoad } from './replica-load.js'
import { ISSUER, newDatabase, POLICY, promisedOf, removeReplicas, startReplica, writeSharedPolicy } from './replicas.js'

let relay: Relay
afterEach(async () => {
  await removeReplicas()
  await relay.close()
})

/**
 * Every 10 s what is older than 30 s is given back. By the clock of the one that recovers they died long ago, by those of one
 * another they have not yet; a full run also waits until it is long ago.
 */
const LIVES = [
  { rounds: 2, behindMs: (death: number) => 60_000 * (death + 1), promiseMs: 10_000 },
  ...(process.env.STRESS === 'full' ? [{ rounds: 1, behindMs: () => 0, promiseMs: 40_000 }] : []),
]

interface Death {
  readonly when: string
  readonly isHere: (command: Command) => boolean
  readonly fate: Fate
}

const isWriteOf = (collection: string) => (command: Command) =>
  command.collection === collection && /insert|update/.test(command.name)

const DEATHS: readonly Death[] = [
  { when: 'before its intent is written', isHere: writesIntents, fate: 'lost' },
  { when: 'before its record is written', isHere: isWriteOf('decisions'), fate: 'lost' },
  { when: 'once its record is written', isHere: isWriteOf('decisions'), fate: 'answer cut' },
]

function writesIntents(command: Command): boolean {
  return isWriteOf('logs')(command) && command.read().updates[0].u.$set?.group?.length > 0
}

it.each(LIVES)('each death, $rounds times', async ({ rounds, behindMs, promiseMs }) => {
  console.log(`SEED=${SEED}`)
  const url = newDatabase()
  let death: { readonly of: ShippedServer; readonly how: Death } | null = null
  relay = await openRelay(url, (command) => {
    if (death === null || !death.how.isHere(command)) return 'passes'
    const { of, how } = death
    death = null
    of.signal('SIGKILL')
    return how.fate
  })
  const other = await startReplica({ url })
  const policy = await writeSharedPolicy([other], POLICY)
  let asked: ShippedServer = other
  const load = new ReplicaLoad(seededRandom(SEED), () => asked)

  // The one that is to recover does nothing until all is left behind.
  other.signal('SIGSTOP')
  for (let i = 0; i < rounds * DEATHS.length; i++) {
    const how = DEATHS[i % DEATHS.length] as Death
    const env = { MONGODB_URL: relay.url, ISSUER, DRIVEN_STORE_BEHIND_MS: String(behindMs(i)) }
    asked = await startDriven({ dataDir: newDirectory(), now: new Date(), env })
    death = { of: asked, how }
    await load.visit()
    expect(await asked.end(), how.when).toEqual({ code: null, signal: 'SIGKILL' })
  }
  expect(load.acknowledged.size).toBe(0)
  const amounts = load.unknown.map(({ body }) => micro(body.context.amount))
  expect(amounts.length).toBe(rounds * DEATHS.length)
  const sum = (some: readonly bigint[]) => some.reduce((one, other) => one + other, 0n)
  expect(await promisedOf(url, policy)).toBe(sum(amounts))

  other.signal('SIGCONT')
  const started = performance.now()
  const standing = sum(amounts.filter((_, i) => i % DEATHS.length === DEATHS.length - 1))
  await until(
    `only ${standing} of ${sum(amounts)} to be promised`,
    async () => ((await promisedOf(url, policy)) === standing ? true : undefined),
    3 * promiseMs,
  )
  console.log(`another replica gave it back within ${((performance.now() - started) / 1000).toFixed(1)} s`)
  asked = other
  console.log(await expectWholeOutcome(url, other, load))
})
