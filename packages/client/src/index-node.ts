import { CountersignClient } from './countersign-client.js'
import { runContextOf } from './enforcement/running/run-context.js'
import { openNodeTransport } from './node-transport.js'
import type { CountersignOptions } from './options.js'

export * from './public.js'

/**
 * A client of a Countersign decision point, over keep-alive `node:http` connections, which do not hold the process while
 * they are idle.
 *
 * Options that are absent come from the environment: `COUNTERSIGN_URL`, `COUNTERSIGN_API_KEY`, `COUNTERSIGN_AGENT_ID`.
 *
 * @throws TypeError naming the faulty option
 *
 * Source: docs/sdk.md.
 */
export class Countersign extends CountersignClient {
  constructor(options: CountersignOptions = {}) {
    super(options, { openTransport: openNodeTransport, runContext: runContextOf('guarded') })
  }
}
