/** Sequences of whatever can happen, through the whole application and through the reference: no difference. */
import { SEED, stress } from '@countersign/testkit'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ON_MONGODB } from '../open-test-store.js'
import { FROZEN } from '../running-server.js'
import { ledgerCommands, putPolicy } from './ledger-model/ledger-commands.js'
import { LedgerServer } from './ledger-model/ledger-server.js'
import { REGISTERED, Scene } from './ledger-model/scene.js'

const SEQUENCES = ON_MONGODB ? stress.ledger_sequences_on_mongodb : stress.ledger_sequences
/** Sequences that one server lives through. */
const SEQUENCES_OF_A_LIFE = 100
/** Far more than they need, also on a machine that has other work. */
const TIMEOUT_MS = SEQUENCES * 1000
/** Time for looking for the shortest sequence that fails. */
const SHRINKING_MS = 20_000

/** Its records are as its log says, and each entry follows from the one before. */
async function end(server: LedgerServer | null): Promise<void> {
  if (server === null) return
  const { code, found } = await server.verifyRecords()
  await server.stop()
  expect(found).toMatchObject({ result: 'intact', record_differences: [], not_bound: {} })
  expect(code).toBe(0)
}

it(`agree on ${SEQUENCES} sequences`, { timeout: TIMEOUT_MS }, async () => {
  console.log(`SEED=${SEED}`)
  const done = { sequences: 0, steps: 0 }
  let server: LedgerServer | null = null
  let deadline = Number.POSITIVE_INFINITY
  const serverOfNow = async (): Promise<LedgerServer> => {
    if (done.sequences++ % SEQUENCES_OF_A_LIFE !== 0 && server !== null) return server
    await end(server)
    server = await LedgerServer.start(FROZEN)
    for (const id of REGISTERED) await server.registerAgent(id, {}, false)
    return server
  }
  const property = fc.asyncProperty(fc.array(putPolicy, { maxLength: 3 }), ledgerCommands, async (policies, drawn) => {
    if (performance.now() > deadline) return
    const real = await serverOfNow()
    const scene = new Scene(real)
    try {
      await scene.begin(real, policies)
      await fc.asyncModelRun(() => ({ model: scene, real }), drawn)
      await scene.end(real)
    } catch (fault) {
      deadline = Math.min(deadline, performance.now() + SHRINKING_MS)
      await scene.clear(real)
      throw fault
    }
    done.steps += [...drawn].length
  })
  try {
    await fc.assert(property, { numRuns: SEQUENCES, seed: SEED })
    await end(server)
    server = null
  } finally {
    await (server as LedgerServer | null)?.stop()
  }
  console.log(`${done.sequences} sequences of ${done.steps} steps`)
  expect(done.sequences).toBe(SEQUENCES)
})
