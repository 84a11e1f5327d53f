/** An app with two copies of this package, such as two versions: what is built, and its sources. */
import * as built from '@countersign/client'
import * as builtKernel from '@countersign/client/kernel'
import {
  answerDecision,
  answerJson,
  decisionAbout,
  type StubDecisionPoint,
  startStubDecisionPoint,
} from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as own from '../src/index-node.js'
import * as ownKernel from '../src/kernel.js'
import { asked, deciding, denialOf, told } from './enforcing.js'
import { API_KEY } from './transports.js'

/** As an integration guards: by a point of its own, and shares. */
async function within<Result>(client: own.Countersign, action: () => Result): Promise<Awaited<Result>> {
  const point = client.enforcement()
  return point.run(await point.admit(asked, { nested: 'share' }), action)
}

describe('two copies of the client', () => {
  let stub: StubDecisionPoint
  let one: own.Countersign
  let other: built.Countersign
  beforeEach(async () => {
    stub = await startStubDecisionPoint(answerDecision())
    const options = { baseUrl: stub.url, apiKey: API_KEY, maxRetries: 0 }
    one = new own.Countersign(options)
    other = new built.Countersign(options)
  })
  afterEach(async () => {
    one.close()
    other.close()
    await stub.close()
  })
  const askCount = (): number => stub.requests.filter(({ url }) => url === '/v1/decisions').length

  it('are two copies', () => {
    expect(own.DeniedError).not.toBe(built.DeniedError)
    expect(ownKernel.runToolCall).not.toBe(builtKernel.runToolCall)
  })

  it.each(['own', 'built'] as const)('run one job once, begun by the %s one', async (first) => {
    stub.answer(answerJson(200, decisionAbout(asked)))
    const action = vi.fn()
    const job = { idempotencyKey: 'job-1', holder: 'run-77' }
    const clients = first === 'own' ? [one, other] : [other, one]
    const ends = await Promise.allSettled(clients.map((client) => client.guard(asked, action, job)))
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const again = (client: Pick<own.Countersign, 'guard'>) => denialOf(client.guard(asked, action, job))
    for (const client of clients) expect(await again(client)).toMatchObject({ reason: 'already_claimed' })
    expect(action).toHaveBeenCalledTimes(1)
  })

  it('share no decision past a guard of the other copy that is between', async () => {
    deciding({ stub }, 'allow')
    const question = { ...asked, action: 'card.read' }
    await one.guard(asked, () => other.guard(question, () => within(one, () => 1)))
    await other.guard(asked, () => one.guard(question, () => within(other as never, () => 1)))
    expect(askCount()).toBe(6)
  })

  it('share within a guard of the other copy, each with its own', async () => {
    deciding({ stub }, 'allow')
    await one.guard(asked, () => within(one, () => 1))
    expect(askCount()).toBe(1)
    // Another client may have another key: it asks.
    await one.guard(asked, () => within(other as never, () => 1))
    expect([askCount(), told(stub).length]).toEqual([3, 3])
  })

  it('note for each other where a fault is, for the warning of its operator', async () => {
    const places: unknown[] = []
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation((text) => void places.push(text))
    const fault = new TypeError('resource is missing')
    builtKernel.noteFaultPlace(fault, 'the tool pay_by_copy')
    await denialOf(
      one.enforcement().admit(() => {
        throw fault
      }),
    )
    expect(places).toEqual([expect.stringContaining('the tool pay_by_copy')])
    emitWarning.mockRestore()
  })

  describe('whose kernels call a tool within a tool', () => {
    interface Call {
      readonly name: string
      readonly kernel: typeof ownKernel
      readonly args?: unknown
      readonly work: (run: own.GuardRun) => unknown
    }
    const paused: string[] = []
    const seen: (string | undefined)[] = []
    beforeEach(() => {
      paused.length = 0
      seen.length = 0
      const review = { status: 'approved', comment: 'fine' }
      stub.answer((request, response) =>
        answerJson(200, { ...decisionAbout(asked), id: `dec_${crypto.randomUUID()}`, review } as never)(
          request,
          response,
        ),
      )
    })
    const callTool = ({ name, kernel, args = {}, work }: Call): Promise<unknown> => {
      const map = { [name]: { action: asked.action, resource: asked.resource } }
      const guard = kernel.toolGuard('a test', { client: one, agentId: asked.agent_id, map }, { deny: 'throw' })
      return kernel.runToolCall<{ name: string }, unknown>(guard, {
        call: { name },
        args,
        pause: () => paused.push(name) > 0,
        run: (_args, run) => {
          seen.push(kernel.currentRun()?.decision?.id)
          return work(run)
        },
        quote: (result, words) => `${result} ${words}`,
        refuse: (denied) => {
          throw denied
        },
      })
    }
    const WORDS = 'The reviewer wrote: "fine"'

    it.each<[string, typeof ownKernel, typeof ownKernel]>([
      ['own kernel within the built one', builtKernel as never, ownKernel],
      ['built kernel within the own one', ownKernel, builtKernel as never],
    ])('ask, pause and quote once: the %s', async (_how, outer, inner) => {
      const within = () => callTool({ name: 'inner', kernel: inner, work: () => 'paid' })
      expect(await callTool({ name: 'outer', kernel: outer, work: within })).toBe(`paid ${WORDS}`)
      expect([askCount(), paused]).toEqual([1, ['outer']])
      expect(new Set(seen).size).toBe(1)
    })

    it('take no word of a caller that it is within a permitted call', async () => {
      let claim = (_args: unknown): void => undefined
      const claimed = new Promise((resolve) => {
        claim = resolve
      })
      const work = ({ decision, permit_token }: own.GuardRun) => {
        claim({ decision_id: decision?.id, decision, permit_token, nested: 'share', isWithin: true, kind: 'permitted' })
        return 'paid'
      }
      // Elsewhere in the process, while the permitted call runs and after it.
      const late = claimed.then((args) =>
        callTool({ name: 'claiming', kernel: builtKernel as never, args, work: () => 'late' }),
      )
      await callTool({ name: 'outer', kernel: ownKernel, work })
      expect(await late).toBe(`late ${WORDS}`)
      expect([askCount(), paused]).toEqual([2, ['outer', 'claiming']])
      expect(Object.keys(globalThis).filter((name) => name.includes('countersign'))).toEqual([])
      expect(ownKernel.currentRun()).toBeUndefined()
    })
  })
})
