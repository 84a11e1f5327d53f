/** Processes that end while settlements wait: none is lost, and none keeps a process that has nothing else to do. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  answerNever,
  answerProblem,
  type StubAnswer,
  type StubDecisionPoint,
  startStubDecisionPoint,
} from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { asked, deciding, except, told } from './enforcing.js'

const run = promisify(execFile)
const PROGRAM = fileURLToPath(new URL('settling-process.mjs', import.meta.url))
const away = answerProblem(503, 'store_unavailable')
/** How long a process that has nothing else to do goes on trying; three times as long it is waited for, and killed then. */
const EXIT_MS = 5_000

describe('a process that ends', () => {
  let stub: StubDecisionPoint
  beforeEach(async () => {
    stub = await startStubDecisionPoint(away)
  })
  afterEach(() => stub.close())

  async function end(fault: StubAnswer, times: number, ...args: string[]): Promise<{ lines: string[]; ms: number }> {
    const lifecycle = deciding({ stub }, 'allow')
    stub.answer(except(lifecycle, '/confirm', fault, times))
    const startedMs = performance.now()
    const { stdout } = await run(process.execPath, [PROGRAM, ...args], {
      timeout: 3 * EXIT_MS,
      env: {
        ...process.env,
        COUNTERSIGN_URL: stub.url,
        COUNTERSIGN_API_KEY: 'key-of-a-test',
        COUNTERSIGN_AGENT_ID: asked.agent_id,
      },
    })
    return { lines: stdout.trim().split('\n'), ms: performance.now() - startedMs }
  }

  it.each([
    ['is refused twice', away, 2],
    ['is not answered', answerNever, 1],
  ])('tells first what became of its action when that %s', async (_how, fault, times) => {
    const { lines } = await end(fault, times)
    expect(lines).toEqual(['decision', 'ran', 'settlement_failed', 'done', 'settled'])
    expect(told(stub)).toHaveLength(times + 1)
    expect(
      new Set(
        stub.requests.filter(({ url }) => url.endsWith('/confirm')).map(({ headers }) => headers['idempotency-key']),
      ).size,
    ).toBe(1)
  })

  it('ends all the same when the decision point stays away', async () => {
    const { lines, ms } = await end(away, Number.POSITIVE_INFINITY)
    expect(lines).toEqual(['decision', 'ran', 'settlement_failed', 'done', 'exit'])
    expect(told(stub).length).toBeGreaterThan(1)
    console.info(`it ended after ${Math.round(ms)} ms, and was told to within ${EXIT_MS}`)
  })

  it('by itself can flush before', async () => {
    const { lines } = await end(away, 2, 'flush')
    expect(lines).toEqual(['decision', 'ran', 'settlement_failed', 'done', 'settled', '0'])
  })
})
