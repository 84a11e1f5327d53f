/** A call whose legs are served by processes of their own, which share nothing but a key. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { expect, it } from 'vitest'
import { decisionOf, Rig, say } from './rig.js'
import type { CallResult } from './sdks.js'

const PROCESS = fileURLToPath(new URL('asking-process.mjs', import.meta.url))
const point = useDecisionPoint()

interface Leg {
  readonly result: CallResult & { readonly requestState?: string }
  readonly runs: readonly unknown[]
}

it('goes on in whichever process it comes back to, is one decision, and one alone claims its review', async () => {
  const rig = await Rig.open(point())
  const shared = {
    baseUrl: point().url,
    apiKey: await rig.operator.makeKey(),
    reviewerKey: await rig.operator.makeKey(['reviews:write']),
    agentId: rig.agentId,
    stateKey: 'k'.repeat(32),
  }
  const legOf = async (brought: object, change: object = {}): Promise<Leg> => {
    const given = JSON.stringify({ ...shared, ...change, brought })
    const env = { PATH: process.env.PATH, LEG: given }
    return JSON.parse((await promisify(execFile)(process.execPath, [PROCESS], { env })).stdout)
  }
  const answer = (name: string, content: object) => ({ inputResponses: { [name]: { action: 'accept', content } } })
  const first = await legOf({})
  const { id } = decisionOf(first.result) as { id: string }
  expect([first.result.resultType, first.runs]).toEqual(['input_required', []])

  const accepted = { requestState: first.result.requestState, ...answer('countersign_review', {}) }
  const both = await Promise.all([legOf(accepted), legOf(accepted)])
  const [second, ...more] = both.filter(({ result }) => result.resultType === 'input_required')
  const refused = [...both.filter(({ result }) => result.isError === true), await legOf(accepted)]
  expect([more, second?.runs]).toEqual([[], [[1, null, null]]])
  expect(refused.map(({ result, runs }) => [decisionOf(result), runs])).toMatchObject([
    [{ id, reason: 'already_claimed' }, []],
    [{ id, reason: 'already_claimed' }, []],
  ])

  const answered = { requestState: second?.result.requestState, ...answer('account', { account: 'DE1' }) }
  const foreign = await legOf(answered, { stateKey: 'x'.repeat(32) })
  expect([decisionOf(foreign.result), foreign.runs]).toMatchObject([{ reason: 'refused' }, []])
  const last = await legOf(answered)
  expect([last.result, last.runs]).toMatchObject([say('paid 1 from DE1'), [[1, 'state of the tool', 'DE1']]])
  const again = await legOf(answered)
  expect([decisionOf(again.result), again.runs]).toMatchObject([{ id, reason: 'settled' }, []])
  expect(await rig.operator.decision(id)).toMatchObject({ status: 'confirmed' })
}, 60_000)
