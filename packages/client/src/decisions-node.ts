import { askerOf, BaseClient } from './base-client.js'
import { openNodeTransport } from './node-transport.js'
import type { CountersignOptions } from './options.js'

export * from './decisions-public.js'

/**
 * A client that only asks for decisions, waits for reviews and settles, over keep-alive `node:http` connections, which
 * do not hold the process while they are idle: `Countersign` without enforcement and management.
 *
 * Options that are absent come from the environment: `COUNTERSIGN_URL`, `COUNTERSIGN_API_KEY`, `COUNTERSIGN_AGENT_ID`.
 *
 * @throws TypeError naming the faulty option
 *
 * Source: docs/sdk.md "The small client".
 */
export class DecisionClient extends BaseClient {
  constructor(options: CountersignOptions = {}) {
    super(askerOf('DecisionClient', options, openNodeTransport))
  }
}
