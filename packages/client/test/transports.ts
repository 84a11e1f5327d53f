import { answerDecision, type StubDecisionPoint, startStubDecisionPoint } from '@countersign/testkit'
import { afterEach, beforeEach, describe } from 'vitest'
import { Countersign as OverFetch } from '../src/index.js'
import { Countersign as OverNode } from '../src/index-node.js'
import type { CountersignOptions } from '../src/options.js'

export const API_KEY = 'cs_sk_9q8w7e6r5t4y3u2i1o0pAsDfGhJkLzXcVbNmQwErTyU000000'

/** What a test of the one suite is given, new for each test. */
export interface Rig {
  readonly stub: StubDecisionPoint
  /** A client of the stub that does not retry unless told. Closed after the test. */
  open(options?: CountersignOptions): OverNode
}

const TRANSPORTS = { 'node:http': OverNode, fetch: OverFetch } as const

/** Runs the same tests over every transport, each test against a stub of its own. */
export function describeTransports(title: string, tests: (rig: () => Rig) => void): void {
  describe.each(Object.entries(TRANSPORTS))(`${title} (%s)`, (_name, Countersign) => {
    let rig: Rig
    let clients: OverNode[] = []
    beforeEach(async () => {
      const stub = await startStubDecisionPoint(answerDecision())
      rig = {
        stub,
        open(options = {}) {
          const client = new Countersign({ baseUrl: stub.url, apiKey: API_KEY, maxRetries: 0, ...options })
          clients.push(client)
          return client
        },
      }
    })
    afterEach(async () => {
      for (const client of clients) client.close()
      clients = []
      await rig.stub.close()
    })
    tests(() => rig)
  })
}

/** The error that a promise rejects with. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it did not reject')
}
