/** Documents and mutations as the store suite needs them: whole, valid, and numbered so that a higher number is newer. */
import type { AccountKey, AuditEntry, JsonObject } from '@countersign/contract'
import type {
  HeldRequest,
  IdempotencyRecord,
  Posting,
  StoredAgent,
  StoredDecision,
  StoredDelivery,
  StoredKey,
  StoredPolicy,
  StoredWebhook,
} from '#server/ports/store/documents'
import type { Change, CommitResult, Mutation, Store } from '#server/ports/store/store'

const START = Date.parse('2026-11-21T10:00:00.000Z')

/** A number of seconds after the frozen instant. */
export function instant(seconds: number): string {
  return new Date(START + Math.round(seconds * 1000)).toISOString()
}

/** The time to live of `decisionOf`, in seconds. */
export const TTL = 300

export function idOf(prefix: string, number: number): string {
  return `${prefix}_${String(number).padStart(26, '0')}`
}

export function decisionOf(number: number, over: Partial<StoredDecision> = {}): StoredDecision {
  return {
    id: idOf('dec', number),
    version: 1,
    effect: 'allow',
    status: 'authorized',
    reason: null,
    reason_code: 'rule_matched',
    policy_id: idOf('pol', 1),
    policy_revision: 1,
    policy_set: 1,
    rule: 0,
    agent_id: 'agent:support-7',
    action: 'payment.refund',
    resource: `order:${number}`,
    latency_ms: 0.021,
    evaluated_at: instant(number),
    expires_at: instant(number + TTL),
    budgets: [],
    postings: [],
    review: null,
    outcome: null,
    advice: null,
    shadow: [],
    request_hash: `hash-${number}`,
    key_id: idOf('key', 1),
    request_id: `req-${number}`,
    holder: null,
    claimed_at: null,
    agent_revision: null,
    redeemed: null,
    audit: { log: 'log', index: number, leaf: `leaf-${number}` },
    ...over,
  }
}

export function reviewOf(number: number, over: Partial<StoredDecision> = {}): StoredDecision {
  return decisionOf(number, {
    effect: 'review',
    status: 'awaiting_review',
    reason: 'A person has to look.',
    review: {
      status: 'waiting',
      requested_at: instant(number),
      expires_at: instant(number + TTL),
      decided_by: null,
      decided_at: null,
      comment: null,
      self_approved: null,
      policy_id: null,
      policy_revision: null,
      rule: null,
    },
    ...over,
  })
}

export function accountOf(over: Partial<AccountKey> = {}): AccountKey {
  return {
    policy_id: idOf('pol', 1),
    unit: 'eur',
    period: 'daily',
    agent_id: null,
    starts_at: '2026-11-21T00:00:00.000Z',
    ...over,
  }
}

/** What an open decision counts for in an account. */
export function heldIn(account: AccountKey, amount: bigint): Posting {
  return { account, amount: String(amount), reads_amount: true, spent: '0', reserved: String(amount) }
}

/** What a decision counts for that is confirmed or expired. */
export function spentIn(account: AccountKey, amount: bigint, spent = amount): Posting {
  return { account, amount: String(amount), reads_amount: true, spent: String(spent), reserved: '0' }
}

/** What a decision counts for that was given up. */
export function releasedIn(account: AccountKey, amount: bigint): Posting {
  return { account, amount: String(amount), reads_amount: true, spent: '0', reserved: '0' }
}

export function requestOf(number: number, context: JsonObject | null = { amount: number }): HeldRequest {
  return { context, salt: `salt-${number}` }
}

export function createOf(
  decision: StoredDecision,
  request: HeldRequest = requestOf(1),
  reservation: string | null = null,
): Extract<Change, { kind: 'decision.create' }> {
  return { kind: 'decision.create', decision, request, reservation }
}

export function updateOf(
  decision: StoredDecision,
  over: Partial<StoredDecision>,
  reservation: string | null = null,
): Extract<Change, { kind: 'decision.update' }> {
  const updated = { ...decision, ...over, version: decision.version + 1 }
  return { kind: 'decision.update', decision: updated, expected_version: decision.version, reservation }
}

/** The update that erases the request of a decision. */
export function eraseOf(decision: StoredDecision): Extract<Change, { kind: 'decision.update' }> {
  const erased = { resource: null, request_hash: null, request_erased_at: instant(DAY) }
  return { ...updateOf(decision, erased), erases_request: true }
}

/** A policy's first revision; `policySet` is the counter as its write leaves it. */
export function policyOf(number: number, policySet: number, over: Partial<StoredPolicy> = {}): StoredPolicy {
  return {
    id: idOf('pol', number),
    version: 1,
    document: { name: `policy ${number}`, rules: [{ action: '*', effect: 'allow' }] },
    warnings: [],
    created_at: instant(number),
    updated_at: instant(number),
    created_by: idOf('key', 1),
    updated_by: idOf('key', 1),
    policy_set: policySet,
    deleted_at: null,
    ...over,
  }
}

export function writePolicyOf(policy: StoredPolicy): Extract<Change, { kind: 'policy.write' }> {
  return { kind: 'policy.write', policy, expected_version: policy.version - 1 }
}

export function agentOf(id: string, over: Partial<StoredAgent> = {}): StoredAgent {
  return {
    id,
    version: 1,
    registration: { revision: 1, name: null, description: null, metadata: { team: 'red' }, created_at: instant(0) },
    last_revision: 1,
    suspended: null,
    known_at: instant(0),
    ...over,
  }
}

export function writeAgentOf(agent: StoredAgent): Extract<Change, { kind: 'agent.write' }> {
  return { kind: 'agent.write', agent, expected_version: agent.version - 1 }
}

export function keyOf(number: number, over: Partial<StoredKey> = {}): StoredKey {
  return {
    id: idOf('key', number),
    version: 1,
    name: `key ${number}`,
    scopes: ['decisions:write'],
    agents: null,
    created_at: instant(number),
    created_by: null,
    expires_at: null,
    revoked_at: null,
    secrets: [{ hash: `hash-${number}`, hint: `cs_sk_…${number}`, expires_at: null }],
    ...over,
  }
}

export function writeKeyOf(key: StoredKey): Extract<Change, { kind: 'key.write' }> {
  return { kind: 'key.write', key, expected_version: key.version - 1 }
}

export function webhookOf(number: number, over: Partial<StoredWebhook> = {}): StoredWebhook {
  return {
    id: idOf('whk', number),
    version: 1,
    url: `https://example.com/hooks/${number}`,
    events: null,
    description: null,
    disabled: null,
    enabled_at: instant(number),
    created_at: instant(number),
    updated_at: instant(number),
    created_by: idOf('key', 1),
    secrets: [{ text: `whsec_${number}`, expires_at: null }],
    deleted_at: null,
    ...over,
  }
}

export function writeWebhookOf(webhook: StoredWebhook): Extract<Change, { kind: 'webhook.write' }> {
  return { kind: 'webhook.write', webhook, expected_version: webhook.version - 1 }
}

/** A delivery that waits for its first attempt. */
export function deliveryOf(number: number, over: Partial<StoredDelivery> = {}): StoredDelivery {
  return {
    id: idOf('dlv', number),
    version: 1,
    webhook_id: idOf('whk', 1),
    event: {
      id: idOf('evt', number),
      type: 'decision.created',
      subject: idOf('dec', number),
      at: instant(number),
      entry: { log: 'log', index: number },
    },
    created_at: instant(number),
    status: 'pending',
    attempt_count: 0,
    scheduled_count: 0,
    attempts: [],
    next_attempt_at: instant(number),
    ...over,
  }
}

export const DAY = 86_400

export function idempotencyOf(subject: string, over: Partial<IdempotencyRecord> = {}): IdempotencyRecord {
  return {
    key_id: idOf('key', 1),
    operation: 'POST /v1/decisions',
    key: 'run-77/refund-1',
    fingerprint: 'fingerprint',
    status: 200,
    subject,
    created_at: instant(0),
    expires_at: instant(DAY),
    ...over,
  }
}

/** What a test wants committed; its position in the log follows. */
export interface Draft {
  readonly change: Change
  readonly idempotency?: IdempotencyRecord
  readonly entry?: Partial<AuditEntry>
}

/** Commits drafts one behind the other in the log of a store, as the server does. */
export class LogPen {
  readonly store: Store
  readonly log: string
  #nextIndex: number

  private constructor(store: Store, log: string, nextIndex: number) {
    this.store = store
    this.log = log
    this.#nextIndex = nextIndex
  }

  static async of(store: Store): Promise<LogPen> {
    const { log, next_index } = await store.openLog()
    return new LogPen(store, log, next_index)
  }

  seal(drafts: readonly Draft[]): readonly Mutation[] {
    let index = this.#nextIndex
    return drafts.map(({ change, idempotency = null, entry = {} }) => {
      if (change.kind === 'call.only') return { change, idempotency, entry: null }
      return { change, idempotency, entry: { ...this.#entryOf(change, index++), ...entry } }
    })
  }

  async commit(...drafts: readonly (Draft | Change)[]): Promise<CommitResult> {
    const whole = drafts.map((draft) => ('kind' in draft ? { change: draft } : draft))
    const mutations = this.seal(whole)
    const result = await this.store.commit(mutations)
    this.#nextIndex += mutations.slice(0, result.written).filter(({ entry }) => entry !== null).length
    return result
  }

  #entryOf(change: Change, index: number): AuditEntry {
    const subject = subjectOf(change)
    return {
      id: idOf('aud', index),
      log: this.log,
      index,
      at: instant(index),
      type: 'decision.created',
      actor: idOf('key', 1),
      subject,
      agent_id: 'decision' in change ? change.decision.agent_id : null,
      data: { index },
      leaf: `leaf-${index}`,
    }
  }
}

function subjectOf(change: Change): string {
  switch (change.kind) {
    case 'decision.create':
    case 'decision.update':
      return change.decision.id
    case 'policy.write':
      return change.policy.id
    case 'agent.write':
      return change.agent.id
    case 'key.write':
      return change.key.id
    case 'webhook.write':
      return change.webhook.id
    case 'entry.only':
    case 'call.only':
      return 'kid-1'
  }
}
