import { readDecision } from '../decision-answer.js'
import type { IdempotentCallOptions } from '../options.js'
import type { Requester } from '../requester.js'
import type { Decision } from '../wire.js'

/** Source: docs/sdk.md "Permits". */
export class Permits {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /**
   * Uses a permit up: the answer is its decision the first time, an error ever after. For the service that acts on a permit;
   * compare the decision with what it is about to do by `isPermitted`.
   *
   * @throws ApiError permit_invalid, permit_already_used, agent_suspended, invalid_transition
   */
  async redeem(permitToken: string, options?: IdempotentCallOptions): Promise<Decision> {
    const answer = await this.#requester.send({
      method: 'POST',
      path: '/v1/permits/redeem',
      body: { permit_token: permitToken },
      idempotencyKey: options?.idempotencyKey ?? true,
      options,
    })
    return readDecision('POST /v1/permits/redeem', answer)
  }
}
