/** One body of each type of event: a story of one day. docs/reference/events.md shows them, and a test checks them. */

const POLICY = 'pol_01kagw0v5ne8sr6w1y6gqk4t2h'
const ASKER = 'key_01kagw1v5ne8sr6w1y6gqk4t2h'
const REVIEWER = 'key_01kagw2v5ne8sr6w1y6gqk4t2h'
const OPERATOR = 'key_01kagw3v5ne8sr6w1y6gqk4t2h'
const ADMIN = 'key_01kdvdna00f10v518hhh66e416'
const MONTH = { period: 'monthly', starts_at: '2026-11-01T00:00:00.000Z', resets_at: '2026-12-01T00:00:00.000Z' }

const reserved = { policy_id: POLICY, unit: 'EUR', ...MONTH, over_limit: false, reserved: true }

const allowed = {
  id: 'dec_01kagx3v5ne8sr6w1y6gqk4t2h',
  effect: 'allow',
  status: 'authorized',
  reason: null,
  reason_code: 'rule_matched',
  policy_id: POLICY,
  policy_revision: 1,
  policy_set: 4,
  rule: 0,
  agent_id: 'agent:support-7',
  action: 'payment.refund',
  resource: 'order:8812',
  latency_ms: 0.084,
  evaluated_at: '2026-11-21T10:00:00.000Z',
  expires_at: '2026-11-21T10:05:00.000Z',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  budgets: [{ ...reserved, amount: 42.5, remaining: 857.5 }],
  review: null,
  outcome: null,
  advice: null,
  request_hash: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg',
  key_id: ASKER,
  request_id: 'req_01kagx3v5ne8sr6w1y6gqk4t2g',
}

const outcome = {
  result: 'confirmed',
  amount: 42.5,
  note: null,
  at: '2026-11-21T10:00:02.000Z',
  late: false,
  overage: false,
  corrected: false,
}

const denied = {
  ...allowed,
  id: 'dec_01kagx4v5ne8sr6w1y6gqk4t2h',
  effect: 'deny',
  status: 'denied',
  reason: 'Refunds over 1000 are not made.',
  rule: 2,
  resource: 'order:8813',
  evaluated_at: '2026-11-21T10:10:00.000Z',
  expires_at: '2026-11-21T10:15:00.000Z',
  budgets: [],
  advice: {
    retry: 'never',
    message: 'Refunds over 1000 are not made. Do not try again; tell the person you work for.',
  },
}

const waiting = {
  status: 'waiting',
  requested_at: '2026-11-21T10:20:00.000Z',
  expires_at: '2026-11-22T10:20:00.000Z',
  decided_by: null,
  decided_at: null,
  comment: null,
  self_approved: null,
  policy_id: null,
  policy_revision: null,
  rule: null,
}

const reviewed = {
  ...allowed,
  id: 'dec_01kagx5v5ne8sr6w1y6gqk4t2h',
  effect: 'review',
  status: 'awaiting_review',
  reason: 'Refunds over 100 need a person.',
  rule: 1,
  resource: 'order:8814',
  evaluated_at: '2026-11-21T10:20:00.000Z',
  expires_at: '2026-11-22T10:20:00.000Z',
  budgets: [],
  review: waiting,
  advice: {
    retry: 'after_approval',
    message: 'A person has to approve this. Wait for decision dec_01kagx5v5ne8sr6w1y6gqk4t2h; do not ask again.',
  },
}

const approved = {
  ...waiting,
  status: 'approved',
  decided_by: REVIEWER,
  decided_at: '2026-11-21T10:30:00.000Z',
  comment: 'checked the order',
  self_approved: false,
  policy_id: POLICY,
  policy_revision: 1,
  rule: 1,
}

const declined = {
  ...waiting,
  status: 'declined',
  decided_by: REVIEWER,
  decided_at: '2026-11-21T10:30:00.000Z',
  comment: 'the order was never paid',
}

const account = { policy_id: POLICY, agent_id: null, unit: 'EUR', limit: 900, ...MONTH, reserved: 420 }

const policy = {
  id: POLICY,
  name: 'refunds',
  priority: 0,
  enabled: true,
  mode: 'enforce',
  agents: ['agent:support-*'],
  rules: [
    { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $gt: 0, $lte: 100 } } },
    {
      action: 'payment.refund',
      effect: 'review',
      conditions: { 'context.amount': { $gt: 0, $lte: 1000 } },
      reason: 'Refunds over 100 need a person.',
    },
    { action: 'payment.refund', effect: 'deny', reason: 'Refunds over 1000 are not made.' },
  ],
  budget: { limit: 900, unit: 'EUR', period: 'monthly' },
  revision: 1,
  created_at: '2026-11-21T09:00:00.000Z',
  updated_at: '2026-11-21T09:00:00.000Z',
  created_by: ADMIN,
  warnings: [],
}
const revised = {
  ...policy,
  description: 'What support may pay back.',
  revision: 2,
  updated_at: '2026-11-21T11:00:00.000Z',
}

const agent = {
  id: 'agent:support-7',
  name: 'Support 7',
  description: null,
  metadata: { team: 'support' },
  registered: true,
  suspended: null,
  first_seen: '2026-11-21T10:00:00.000Z',
  last_seen: '2026-11-21T10:20:00.000Z',
  created_at: '2026-11-21T09:00:00.000Z',
}

const key = {
  id: ASKER,
  name: 'support bot',
  scopes: ['decisions:write'],
  agents: ['agent:support-*'],
  created_at: '2026-11-21T09:00:00.000Z',
  created_by: ADMIN,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  hint: 'cs_sk_…9fQ2',
}

const webhook = {
  id: 'whk_01kagw4v5ne8sr6w1y6gqk4t2h',
  url: 'https://example.com/countersign',
  events: null,
  description: null,
  enabled: true,
  disabled: null,
  created_at: '2026-11-21T09:00:00.000Z',
  updated_at: '2026-11-21T09:00:00.000Z',
  created_by: OPERATOR,
}

/**
 * @param {string} time of that day
 * @param {number | null} sequence
 * @param {object} data
 */
const at = (time, sequence, data) => ({ timestamp: `2026-11-21T${time}.000Z`, sequence, data })

/** Without `type`, which is the name. @type {Readonly<Record<string, ReturnType<typeof at>>>} */
export const EVENT_EXAMPLES = {
  'decision.created': at('10:00:00', 1, allowed),
  'decision.denied': at('10:10:00', 1, denied),
  'decision.review_requested': at('10:20:00', 1, reviewed),
  'decision.approved': at('10:30:00', 2, {
    ...reviewed,
    status: 'approved',
    expires_at: '2026-11-21T11:30:00.000Z',
    budgets: [{ ...reserved, amount: 420, remaining: 437.5 }],
    review: approved,
    advice: { retry: 'now', message: 'Claim the decision and run the action.' },
  }),
  'decision.declined': at('10:30:00', 2, {
    ...reviewed,
    status: 'declined',
    review: declined,
    advice: {
      retry: 'never',
      message:
        'A person has declined this. Do not try again; tell the person you work for. The reviewer wrote: "the order was never paid"',
    },
  }),
  'decision.confirmed': at('10:00:02', 2, { ...allowed, status: 'confirmed', outcome }),
  'decision.rejected': at('10:00:02', 2, {
    ...allowed,
    status: 'rejected',
    outcome: { ...outcome, result: 'rejected', amount: null, note: 'the bank refused' },
  }),
  'decision.corrected': at('10:40:00', 3, {
    ...allowed,
    status: 'confirmed',
    outcome: {
      ...outcome,
      amount: 40,
      note: 'the fee was given back',
      at: '2026-11-21T10:40:00.000Z',
      corrected: true,
    },
  }),
  'decision.expired': at('10:05:00', 2, { ...allowed, status: 'expired' }),
  'budget.threshold': at('10:30:00', null, {
    ...account,
    spent: 42.5,
    remaining: 437.5,
    decision_id: reviewed.id,
    threshold: 50,
  }),
  'budget.exceeded': at('10:50:00', null, {
    ...account,
    spent: 442.5,
    remaining: 37.5,
    decision_id: 'dec_01kagx6v5ne8sr6w1y6gqk4t2h',
    amount: 80,
  }),
  'policy.created': at('09:00:00', 1, policy),
  'policy.updated': at('11:00:00', 2, revised),
  'policy.deleted': at('12:00:00', 3, revised),
  'agent.suspended': at('11:10:00', null, {
    ...agent,
    suspended: { at: '2026-11-21T11:10:00.000Z', by: OPERATOR, reason: 'odd refunds' },
  }),
  'agent.resumed': at('11:20:00', null, agent),
  'key.created': at('09:00:00', null, key),
  'key.revoked': at('11:30:00', null, { ...key, revoked_at: '2026-11-21T11:30:00.000Z' }),
  'webhook.disabled': at('11:40:00', null, {
    ...webhook,
    enabled: false,
    disabled: { at: '2026-11-21T11:40:00.000Z', reason: 'gone' },
    updated_at: '2026-11-21T11:40:00.000Z',
  }),
  'webhook.test': at('09:00:05', null, webhook),
}
