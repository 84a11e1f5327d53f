/** Decisions as a server stores them, written to a store by hand. */
const AT = '2026-11-21T10:00:00.000Z'
const ENDS_AT = '2026-11-21T10:05:00.000Z'
const TOMORROW = '2026-11-22T10:00:00.000Z'
const AMOUNT = 250_000n

const idOf = (prefix, number) => `${prefix}_${String(number).padStart(26, '0')}`

export class StoredDecisions {
  #store
  #log
  #entries = 0
  #decisions = 0

  /** Of a store that is new. The one who opened it closes it. */
  static async on(store) {
    const decisions = new StoredDecisions()
    decisions.#store = store
    decisions.#log = (await store.openLog()).log
    return decisions
  }

  /** Reserves an amount for a decision that is to come. */
  async reserve(account) {
    const id = idOf('dec', this.#decisions++)
    const demands = [{ account, amount: AMOUNT, limit: 10n ** 15n }]
    const { reservation } = await this.#store.ledger.reserve({ decision_id: id, version: 0, demands })
    if (reservation === null) throw new Error('There was no room.')
    return { id, reservation, account }
  }

  release({ reservation }) {
    return this.#store.ledger.release(reservation)
  }

  /** New decisions that hold what was reserved for them. */
  async stand(held) {
    const decisions = held.map((one) => this.#decision(one))
    await this.#commit(decisions.map((decision, i) => ({ change: createOf(decision, held[i].reservation) })))
    return decisions
  }

  /** New decisions without a budget, in one group, each with an idempotency key or all without. */
  async write(count, hasKeys) {
    const decisions = Array.from({ length: count }, () =>
      this.#decision({ id: idOf('dec', this.#decisions++), account: null }),
    )
    await this.#commit(
      decisions.map((decision) => ({
        change: createOf(decision, null),
        idempotency: hasKeys ? idempotencyOf(decision) : null,
      })),
    )
  }

  async giveUp(decisions) {
    await this.#commit(
      decisions.map((decision) => ({
        change: {
          kind: 'decision.update',
          decision: {
            ...decision,
            version: 2,
            status: 'rejected',
            postings: decision.postings.map((posting) => ({ ...posting, reserved: '0' })),
          },
          expected_version: 1,
          reservation: null,
        },
      })),
    )
  }

  async #commit(records) {
    const { written } = await this.#store.commit(
      records.map(({ change, idempotency = null }) => ({ change, entry: this.#entry(change.decision), idempotency })),
    )
    if (written !== records.length) throw new Error('The store refused a record.')
  }

  #entry({ id, agent_id }) {
    const index = this.#entries++
    return {
      id: idOf('aud', index),
      log: this.#log,
      index,
      at: AT,
      type: 'decision.created',
      actor: idOf('key', 1),
      subject: id,
      agent_id,
      data: { effect: 'allow' },
      leaf: String(index).padStart(43, 'l'),
    }
  }

  #decision({ id, account }) {
    const number = Number(id.slice(-26))
    const amount = String(AMOUNT)
    return {
      id,
      version: 1,
      effect: 'allow',
      status: 'authorized',
      reason: null,
      reason_code: 'rule_matched',
      policy_id: account?.policy_id ?? idOf('pol', number % 50),
      policy_revision: 1,
      policy_set: 1,
      rule: 0,
      agent_id: `agent:support-${number % 200}`,
      action: 'payment.refund',
      resource: `order:${number}`,
      latency_ms: 0.021,
      evaluated_at: AT,
      expires_at: ENDS_AT,
      budgets: [],
      postings: account === null ? [] : [{ account, amount, reads_amount: true, spent: '0', reserved: amount }],
      review: null,
      outcome: null,
      advice: null,
      shadow: [],
      request_hash: String(number).padStart(43, 'h'),
      key_id: idOf('key', 1),
      request_id: idOf('req', number),
      holder: null,
      claimed_at: null,
      agent_revision: 1,
      redeemed: null,
      audit: { log: this.#log, index: number, leaf: String(number).padStart(43, 'l') },
    }
  }
}

function createOf(decision, reservation) {
  const request = { context: { amount: 0.25, currency: 'EUR' }, salt: 's'.repeat(22) }
  return { kind: 'decision.create', decision, request, reservation }
}

function idempotencyOf({ id, key_id, request_id, request_hash }) {
  return {
    key_id,
    operation: 'POST /v1/decisions',
    key: request_id,
    fingerprint: request_hash,
    status: 200,
    subject: id,
    created_at: AT,
    expires_at: TOMORROW,
  }
}
