import { CountersignClient } from './countersign-client.js'
import { NO_RUN_CONTEXT } from './enforcement/running/run-context.js'
import { openFetchTransport } from './fetch-transport.js'
import type { CountersignOptions } from './options.js'

export * from './public.js'

/**
 * A client of a Countersign decision point, over `fetch`. On Node the package resolves to the same client over keep-alive
 * `node:http` connections.
 *
 * Options that are absent come from the environment: `COUNTERSIGN_URL`, `COUNTERSIGN_API_KEY`, `COUNTERSIGN_AGENT_ID`.
 *
 * @throws TypeError naming the faulty option
 *
 * @example
 * const client = new Countersign({ baseUrl: 'http://127.0.0.1:8787', apiKey: process.env.KEY, agentId: 'agent:support-7' })
 *
 * Source: docs/sdk.md.
 */
export class Countersign extends CountersignClient {
  constructor(options: CountersignOptions = {}) {
    super(options, { openTransport: openFetchTransport, runContext: NO_RUN_CONTEXT })
  }
}
