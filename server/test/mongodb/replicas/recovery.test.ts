/** A replica that dies between the reservation and the record: another one finishes what it left, and nothing drifts. */
import { stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { micro } from '../../api/ledger-model/reference-money.js'
import { startDriven } from '../../process/driven-server.js'
import { SEED, seededRandom } from '../../process/random.js'
import { newDirectory, type ShippedServer } from '../../process/shipped-server.js'
import { until } from '../../process/until.js'
import { type Command, type Fate, openRelay, type Relay } from '../relay.js'
import { expectWholeOutcome } from './outcome.js'
import { ReplicaLoad } from './replica-load.js'
import { ISSUER, newDatabase, POLICY, promisedOf, removeReplicas, startReplica, writeSharedPolicy } from './replicas.js'

let relay: Relay
afterEach(async () => {
  await removeReplicas()
  await relay.close()
})

/** Every 10 s what is older than 30 s is given back. The dead say that they did it long ago, except in a full run. */
const BEHIND_MS = process.env.STRESS === 'full' ? 0 : 60_000
const RECOVERY_MS = process.env.STRESS === 'full' ? 40_000 : 10_000

/** Each time costs a start. */
const ROUNDS = Math.ceil(stress.replica_rounds / 3)

interface Death {
  readonly when: string
  readonly isHere: (command: Command) => boolean
  readonly fate: Fate
}

const isWriteOf = (collection: string) => (command: Command) =>
  command.collection === collection && /insert|update/.test(command.name)

const DEATHS: readonly Death[] = [
  { when: 'before its record is announced', isHere: announces, fate: 'lost' },
  { when: 'before its record is written', isHere: isWriteOf('decisions'), fate: 'lost' },
  { when: 'once its record is written', isHere: isWriteOf('decisions'), fate: 'answer cut' },
]

function announces(command: Command): boolean {
  return isWriteOf('logs')(command) && command.read().updates[0].u.$set?.group?.length > 0
}

it(`each of ${DEATHS.length} deaths, ${ROUNDS} times`, async () => {
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
  for (let round = 0; round < ROUNDS; round++)
    for (const how of DEATHS) {
      const env = { MONGODB_URL: relay.url, ISSUER, DRIVEN_STORE_BEHIND_MS: String(BEHIND_MS) }
      asked = await startDriven({ dataDir: newDirectory(), now: new Date(), env })
      death = { of: asked, how }
      await load.visit()
      expect(await asked.end(), how.when).toEqual({ code: null, signal: 'SIGKILL' })
    }
  expect(load.acknowledged.size).toBe(0)
  const amounts = load.unknown.map(({ body }) => micro(body.context.amount))
  expect(amounts.length).toBe(DEATHS.length * ROUNDS)
  const sum = (some: readonly bigint[]) => some.reduce((one, other) => one + other, 0n)
  expect(await promisedOf(url, policy)).toBe(sum(amounts))

  other.signal('SIGCONT')
  const started = performance.now()
  const standing = sum(amounts.filter((_, i) => i % DEATHS.length === DEATHS.length - 1))
  await until(
    `only ${standing} of ${sum(amounts)} to be promised`,
    async () => ((await promisedOf(url, policy)) === standing ? true : undefined),
    3 * RECOVERY_MS,
  )
  console.log(`another replica gave it back within ${((performance.now() - started) / 1000).toFixed(1)} s`)
  asked = other
  console.log(await expectWholeOutcome(url, other, load))
})
