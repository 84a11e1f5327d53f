/** kill -9 of replicas at any moment: nothing that was acknowledged is missing, and budgets are the sum over decisions. */
import { SEED, seededRandom, stress, until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { newDirectory, type ShippedServer } from '../../process/shipped-server.js'
import { expectWholeOutcome } from './outcome.js'
import { ReplicaLoad } from './replica-load.js'
import { newDatabase, POLICY, removeReplicas, startReplica, writeSharedPolicy } from './replicas.js'

afterEach(removeReplicas)

const CALLERS = 12

it(`replicas under load, killed ${stress.replica_rounds} times`, async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const url = newDatabase()
  const directories = [newDirectory(), newDirectory(), newDirectory()]
  const start = (i: number) => startReplica({ url, dataDir: directories[i] as string })
  const replicas: [ShippedServer, ...ShippedServer[]] = [await start(0), await start(1), await start(2)]
  await writeSharedPolicy(replicas, POLICY)

  const load = new ReplicaLoad(random, () => replicas[Math.floor(random() * 3)] as ShippedServer)
  const running = load.run(CALLERS)
  for (let kill = 0; kill < stress.replica_rounds; kill++) {
    const enough = load.acknowledged.size + 20 + Math.floor(random() * 60)
    await until(`${enough} decisions`, () => (load.acknowledged.size >= enough ? true : undefined), 60_000)
    const i = Math.floor(random() * 3)
    replicas[i]?.process.kill('SIGKILL')
    expect(await replicas[i]?.end()).toEqual({ code: null, signal: 'SIGKILL' })
    replicas[i] = await start(i)
  }
  load.stop()
  await running
  console.log(await expectWholeOutcome(url, replicas[0], load))
})
