/** Servers whose connections to the store are broken all the time, at any write. */
import { randomBytes } from 'node:crypto'
import { SEED, seededRandom, stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'
import { Cuts } from '../stores/mongodb/relay-cuts.js'
import { EVERY_WRITE, makeEveryWrite } from '../stores/mongodb/relay-every-write.js'
import { runBehindRelay } from './relay-run.js'

const NAME = `countersign-relay-${randomBytes(6).toString('hex')}`
const RARE = `${NAME}-rare`
afterEach(async () => {
  await dropDatabase(NAME)
  await dropDatabase(RARE)
})

it(`${stress.relay_operations} decisions and transitions happen once, whatever is cut`, async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const cuts = new Cuts(random)
  const started = performance.now()
  const load = await runBehindRelay({ url: mongoUrl(NAME), cuts, random, operations: stress.relay_operations })
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  console.log(`${load.acknowledged.length} calls acknowledged, ${load.refused} answered 503, in ${seconds} s`)
  const ends = new Map<string, number>()
  for (const { answer } of load.decisions.values()) ends.set(answer.status, (ends.get(answer.status) ?? 0) + 1)
  console.log(`decisions: ${JSON.stringify(Object.fromEntries(ends))}`)
  cuts.isFaulty = true
  await makeEveryWrite(cuts, mongoUrl(RARE))
  console.log(cuts.table())
  expect([...cuts.writes.keys()].sort()).toEqual(EVERY_WRITE)
  for (const [name, { cut }] of cuts.writes) expect(cut, name).toBeGreaterThan(0)
  expect([...cuts.weak]).toEqual([])
})
