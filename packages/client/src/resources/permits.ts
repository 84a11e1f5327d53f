import { nameOf } from '../call.js'
import { readDecision } from '../decision-answer.js'
import { PERMIT_ENDPOINTS } from '../endpoints.js'
import { callOf } from '../operation.js'
import type { IdempotentCallOptions } from '../options.js'
import type { Requester } from '../requester.js'
import type { Decision } from '../wire.js'

/** Source: docs/sdk-methods.md "Permits". */
export class Permits {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /**
   * Uses a permit up: the first answer is its decision, every later one an error. For the service that acts on a
   * permit; use `isPermitted` to compare the decision with the action that is about to run.
   *
   * @throws ApiError permit_invalid, permit_already_used, agent_suspended, invalid_transition
   */
  async redeem(permitToken: string, options?: IdempotentCallOptions): Promise<Decision> {
    const call = callOf(PERMIT_ENDPOINTS['permits.redeem'], { body: { permit_token: permitToken }, options })
    return readDecision(nameOf(call), await this.#requester.send(call))
  }
}
