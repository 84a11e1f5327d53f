/** The time that live events take, on a clock that a test drives. */
import {
  answerNever,
  answerProblem,
  answerReset,
  answerText,
  type StubDecisionPoint,
  startStubDecisionPoint,
} from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EventStream } from './event-stream.js'
import { HASHED_NAMES } from './hashed-names.js'
import { openNodeTransport } from './node-transport.js'
import { resolveOptions } from './options.js'
import type { Chance } from './requester.js'
import { StreamRequester } from './stream-requester.js'

const SILENCE_MS = 45_000
const streamHead = { 'content-type': 'text/event-stream' }
const refusal = answerProblem(401, 'unauthorized')

describe('EventStream', () => {
  let stub: StubDecisionPoint
  let requester: StreamRequester
  let pauses: number[]
  let clockMs: number
  /** Lets the time of silence pass for a reader that waits for a byte. */
  let passSilence: () => void
  /** How often a byte was waited for. */
  let waitCount: number
  beforeEach(async () => {
    stub = await startStubDecisionPoint(refusal)
    pauses = []
    clockMs = 0
    waitCount = 0
    const chance: Chance = {
      random: () => 0.5,
      now: () => clockMs,
      wait(milliseconds, signal) {
        if (milliseconds !== SILENCE_MS) {
          pauses.push(milliseconds)
          clockMs += milliseconds
          return Promise.resolve()
        }
        waitCount += 1
        return new Promise((resolve, reject) => {
          passSilence = () => {
            clockMs += milliseconds
            resolve()
          }
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        })
      },
    }
    const settings = resolveOptions('Countersign', { baseUrl: stub.url, apiKey: 'key-of-a-test' }, {}, {})
    requester = new StreamRequester(
      settings,
      openNodeTransport({ connectTimeoutMs: 1_000, maxBytes: 1_000 }),
      HASHED_NAMES,
      chance,
    )
  })
  afterEach(() => {
    requester.close()
    return stub.close()
  })

  const untilRefused = () =>
    expect(new EventStream(requester, {}, undefined).read(undefined).next()).rejects.toMatchObject({ status: 401 })

  it('connects again after a part of a window that doubles up to 10 s', async () => {
    stub.answer(...(Array(8).fill(answerReset) as [typeof answerReset]), refusal)
    await untilRefused()
    expect(pauses).toEqual([187.5, 375, 750, 1500, 3000, 6000, 7500, 7500])
  })

  it('waits as long as Retry-After or the stream says, and the random part on top', async () => {
    stub.answer(
      answerProblem(503, 'store_unavailable', { 'retry-after': '2' }),
      answerText(200, 'retry: 4000\n\n', streamHead),
      answerProblem(503, 'store_unavailable', { 'retry-after': '1' }),
      refusal,
    )
    await untilRefused()
    expect(pauses).toEqual([2187.5, 4375, 4750])
  })

  it.each([
    ['Retry-After', answerProblem(503, 'store_unavailable', { 'retry-after': '999999999' })],
    ['retry', answerText(200, 'retry: 99999999999999\n\n', streamHead)],
  ])('waits an hour at most, whatever %s says', async (_what, answer) => {
    stub.answer(answer, refusal)
    await untilRefused()
    expect(pauses).toEqual([3_600_000])
  })

  it.each([
    ['an answer', answerNever],
    [
      'a byte',
      (_request: unknown, response: Parameters<typeof answerNever>[1]) => {
        response.writeHead(200, streamHead)
        response.flushHeaders()
      },
    ],
  ])('takes a connection for lost on which nobody sends %s for 45 s', async (_what, answer) => {
    stub.answer(answer, refusal)
    const ended = untilRefused()
    const request = await stub.nextRequest()
    expect(request.url).toBe('/v1/events')
    passSilence()
    await ended
    expect(stub.requests).toHaveLength(2)
    // It had lasted: the next one is not put off longer.
    expect(pauses).toEqual([187.5])
  })

  it('takes each byte for a sign of life', async () => {
    let send: (text: string) => void = () => undefined
    stub.answer((_request, response) => {
      response.writeHead(200, streamHead)
      send = (text) => void response.write(text)
      send(':\n')
    }, refusal)
    const ended = untilRefused()
    await stub.nextRequest()
    for (let round = 2; round < 6; round += 1) {
      await expect.poll(() => waitCount).toBeGreaterThan(round)
      send(':\n')
    }
    passSilence()
    await ended
    expect(waitCount).toBeGreaterThan(5)
  })
})
