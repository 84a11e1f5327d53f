import type { RealDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { afterAll, beforeAll } from 'vitest'
import { type RunningServer, runServer, TestClock } from '../running-server.js'

/** For who looks at the clock of the machine, too. */
class RunningClock extends TestClock {
  override now(): Date {
    return new Date()
  }
}

/** A decision point for the tests of a file. */
export function useDecisionPoint(): () => RealDecisionPoint {
  let server: RunningServer
  beforeAll(async () => {
    server = await runServer({ clock: new RunningClock(), settings: { rateLimitPerSecond: 0 } })
  })
  afterAll(() => server.stop())
  return () => ({ url: server.url, apiKey: server.key })
}
