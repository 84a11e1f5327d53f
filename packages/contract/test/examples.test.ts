import {
  AgentSchema,
  AuditEntrySchema,
  DecisionExplanationSchema,
  DecisionSchema,
  JwksSchema,
  KeySchema,
  KeyWithSecretSchema,
  PermitClaimsSchema,
  PolicySchema,
  PolicyValidationSchema,
  ProblemSchema,
  pageOf,
} from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'

const decisionId = 'dec_01kagx5v5ne8sr6w1y6gqk4t2h'
const policyId = 'pol_01kagx3v5ne8sr6w1y6gqk4t2h'
const keyId = 'key_01kagx2v5ne8sr6w1y6gqk4t2h'
const at = '2026-11-21T10:00:05.120Z'
const digest = 'x'.repeat(43)

const budgetRow = {
  policy_id: policyId,
  unit: 'EUR',
  amount: 42.5,
  period: 'monthly',
  starts_at: '2026-11-01T00:00:00.000Z',
  resets_at: '2026-12-01T00:00:00.000Z',
  remaining: 4957.5,
  over_limit: false,
  reserved: true,
}
const allowed = {
  id: decisionId,
  effect: 'allow',
  status: 'authorized',
  reason: null,
  reason_code: 'rule_matched',
  policy_id: policyId,
  policy_revision: 1,
  policy_set: 1,
  rule: 0,
  agent_id: 'agent:support-7',
  action: 'payment.refund',
  resource: 'order:8812',
  latency_ms: 0.021,
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  evaluated_at: at,
  expires_at: '2026-11-21T10:05:05.120Z',
  budgets: [budgetRow],
  review: null,
  outcome: null,
  advice: null,
  permit_token: 'eyJhbGciOiJFZERTQSIs',
}
const { permit_token: _, ...withoutPermit } = allowed
const denied = {
  ...withoutPermit,
  effect: 'deny',
  status: 'denied',
  reason: 'No policy matches this request.',
  reason_code: 'no_matching_policy',
  policy_id: 'pol_default',
  policy_revision: null,
  rule: null,
  resource: null,
  budgets: [],
  advice: { retry: 'never', message: 'No policy allows payment.refund for this agent. Do not try again.' },
}
const reviewed = {
  ...withoutPermit,
  effect: 'review',
  status: 'awaiting_review',
  reason: 'Refunds over 100 need a person.',
  rule: 1,
  budgets: [],
  review: {
    status: 'waiting',
    requested_at: at,
    expires_at: '2026-11-22T10:00:05.120Z',
    decided_by: null,
    decided_at: null,
    comment: null,
    self_approved: null,
    policy_id: null,
    policy_revision: null,
    rule: null,
  },
  advice: { retry: 'after_approval', message: 'A person has to approve this.' },
  shadow: [{ policy_id: policyId, effect: 'deny', rule: 0 }],
}
const confirmed = {
  ...withoutPermit,
  status: 'confirmed',
  outcome: { result: 'confirmed', amount: 40, note: null, at, late: false, overage: false, corrected: false },
}
const policy = {
  id: policyId,
  name: 'refunds',
  priority: 0,
  enabled: true,
  mode: 'enforce',
  agents: ['agent:support-*'],
  rules: [{ action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } }],
  budget: { limit: 5000, unit: 'EUR', period: 'monthly', amount: 'context.amount', scope: 'policy', on_exceed: 'deny' },
  revision: 1,
  created_at: at,
  updated_at: at,
  created_by: keyId,
  warnings: [{ code: 'rule_never_reached', pointer: '/rules/2', message: 'Rule 2 can never decide.' }],
}
const key = {
  id: keyId,
  name: 'support bots',
  scopes: ['decisions:write'],
  agents: ['agent:support-*'],
  created_at: at,
  created_by: null,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  hint: 'cs_sk_…9fQ2',
}
const failed = [{ path: 'context.amount', operator: '$lte', expected: 100, actual: 1500 }]
const audited = {
  id: 'aud_01kagx5v5ne8sr6w1y6gqk4t2h',
  log: 'a1',
  index: 12,
  at,
  type: 'decision.created',
  actor: keyId,
  subject: decisionId,
  agent_id: 'agent:support-7',
  data: { effect: 'allow', budgets: [] },
  trace_id: null,
  leaf: digest,
}
const { trace_id: __, ...auditedByOlderRelease } = audited

const examples: readonly (readonly [name: string, schema: z.ZodType, body: object])[] = [
  ['an allowed decision', DecisionSchema, allowed],
  ['a denied decision', DecisionSchema, denied],
  [
    'a decision without budget',
    DecisionSchema,
    { ...denied, advice: { retry: 'after', after: at, max_amount: 12.5, message: 'The monthly budget is used up.' } },
  ],
  ['a decision in review', DecisionSchema, reviewed],
  ['a confirmed decision', DecisionSchema, confirmed],
  ['a policy', PolicySchema, policy],
  ['a valid policy', PolicyValidationSchema, { valid: true, errors: [], warnings: policy.warnings }],
  ['an API key', KeySchema, key],
  ['an API key with its secret', KeyWithSecretSchema, { ...key, key: 'cs_sk_x' }],
  [
    'an agent that was only seen',
    AgentSchema,
    {
      id: 'agent:support-7',
      name: null,
      description: null,
      metadata: {},
      registered: false,
      suspended: { at, by: keyId, reason: 'odd refunds' },
      first_seen: at,
      last_seen: at,
      created_at: null,
    },
  ],
  [
    'an explanation',
    DecisionExplanationSchema,
    {
      decision_id: decisionId,
      effect: 'deny',
      summary: 'Denied: rule 3 of "refunds" denies every payment.refund.',
      nearest_miss: { policy_id: policyId, rule: 1, failed },
      policies: [
        {
          policy_id: policyId,
          name: 'refunds',
          revision: 1,
          priority: 0,
          mode: 'enforce',
          agents: 'matched',
          result: 'deny',
          decided: true,
          rules: [
            { rule: 0, effect: 'allow', result: 'condition', failed },
            {
              rule: 1,
              effect: 'review',
              result: 'unknown',
              failed: [{ ...failed[0], actual: null, found: 'missing' }],
            },
            {
              rule: 2,
              effect: 'deny',
              result: 'matched',
              failed: [],
              held: [{ path: 'action', operator: '$like', expected: 'payment.refund', actual: 'payment.refund' }],
            },
          ],
        },
      ],
    },
  ],
  ['an audit entry', AuditEntrySchema, audited],
  ['an audit entry of an older release', AuditEntrySchema, auditedByOlderRelease],
  ['a page', pageOf(AuditEntrySchema), { data: [audited], next_cursor: null }],
  [
    'the claims of a permit',
    PermitClaimsSchema,
    {
      iss: 'http://127.0.0.1:8787',
      sub: 'agent:support-7',
      aud: 'http://127.0.0.1:8787',
      iat: 1795255205,
      exp: 1795255505,
      jti: decisionId,
      action: 'payment.refund',
      resource: null,
      effect: 'allow',
      policy_id: policyId,
      policy_revision: 1,
      request_hash: digest,
      audit: { log: 'a1', index: 12, leaf: digest },
    },
  ],
  [
    'a key set',
    JwksSchema,
    { keys: [{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid: digest, x: digest }] },
  ],
  [
    'a problem',
    ProblemSchema,
    {
      type: '/docs/errors#validation_failed',
      title: 'The request is not valid.',
      status: 400,
      detail: '1 problem found; see `errors`.',
      code: 'validation_failed',
      request_id: 'req_x',
      errors: [{ pointer: '/action', detail: 'is missing' }],
    },
  ],
]

describe.each(examples)('%s', (_, schema, body) => {
  it('has the shape that the schema describes', () => {
    expect(schema.parse(body)).toEqual(body)
  })

  it('has no member beyond it', () => {
    expect(schema.safeParse({ ...body, secret: 'x' }).success).toBe(false)
  })

  it.each(Object.keys(body))('%s is not of another type', (member) => {
    expect(schema.safeParse({ ...body, [member]: Symbol('other') }).success).toBe(false)
  })
})
