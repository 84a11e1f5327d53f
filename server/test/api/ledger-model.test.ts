/** Sequences of whatever can happen, through the whole application and through the reference: no difference. */
import { stress } from '@countersign/testkit'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SEED } from '../process/random.js'
import { FROZEN } from '../running-server.js'
import { ledgerCommands, putPolicy } from './ledger-model/ledger-commands.js'
import { LedgerServer } from './ledger-model/ledger-server.js'
import { Scene } from './ledger-model/scene.js'

/** Sequences that one server lives through. */
const SEQUENCES_OF_A_LIFE = 100
/** Time for looking for the shortest sequence that fails. */
const SHRINKING_MS = 20_000

it(`agree on ${stress.ledger_sequences} sequences`, async () => {
  console.log(`SEED=${SEED}`)
  let steps = 0
  let server: LedgerServer | null = null
  let lived = 0
  const shrinkUntil = Number.POSITIVE_INFINITY
  const property = fc.asyncProperty(
    fc.array(putPolicy, { maxLength: 3 }),
    ledgerCommands,
    async (policies, commands) => {
      if (performance.now() > shrinkUntil) return
      if (lived++ % SEQUENCES_OF_A_LIFE === 0) {
        await server?.stop()
        server = await LedgerServer.start(FROZEN)
      }
      const on = server as LedgerServer
      const scene = new Scene(on)
      await scene.begin(on, policies)
      await fc.asyncModelRun(() => ({ model: scene, real: on }), commands)
      await scene.end(on)
      steps += [...commands].length
    },
  )
  try {
    await fc.assert(property, { numRuns: stress.ledger_sequences, seed: SEED })
  } finally {
    await (server as LedgerServer | null)?.stop()
  }
  console.log(`${lived} sequences of ${steps} steps`)
  expect(lived).toBe(stress.ledger_sequences)
})
