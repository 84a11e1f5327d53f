import { askerOf, BaseClient } from './base-client.js'
import { openFetchTransport } from './fetch-transport.js'
import type { CountersignOptions } from './options.js'

export * from './decisions-public.js'

/**
 * A client that only asks for decisions, waits for reviews and settles, over `fetch`: `Countersign` without enforcement
 * and management, for pages and workers where each kilobyte counts. On Node the package resolves to the same client over
 * keep-alive `node:http` connections.
 *
 * Options that are absent come from the environment: `COUNTERSIGN_URL`, `COUNTERSIGN_API_KEY`, `COUNTERSIGN_AGENT_ID`.
 *
 * @throws TypeError naming the faulty option
 *
 * @example
 * const client = new DecisionClient({ baseUrl: 'http://127.0.0.1:8787', apiKey: key, agentId: 'agent:support-7' })
 *
 * Source: docs/sdk.md "The small client".
 */
export class DecisionClient extends BaseClient {
  constructor(options: CountersignOptions = {}) {
    super(askerOf('DecisionClient', options, openFetchTransport))
  }
}
