import type { z } from 'zod'
import { EventDecisionSchema } from './decision.js'
import { BudgetExceededSchema, BudgetThresholdSchema, type WebhookType } from './event.js'
import { EventAgentSchema, EventKeySchema, EventPolicySchema } from './event-object.js'
import { WebhookSchema } from './webhook.js'

/** Says when an event of a type is sent, and what its `data` is. */
export interface EventEntry {
  /** Completes the sentence "It is sent when …". */
  readonly when: string
  readonly data: z.ZodType
}

/** Every event type. docs/reference/events.md is generated from this table. */
export const EVENTS: Readonly<Record<WebhookType, EventEntry>> = {
  'decision.created': { when: 'a decision was made, with any effect', data: EventDecisionSchema },
  'decision.denied': {
    when: 'a decision denied a request; sent after its `decision.created`',
    data: EventDecisionSchema,
  },
  'decision.review_requested': {
    when: 'a decision needs a review; sent after its `decision.created`',
    data: EventDecisionSchema,
  },
  'decision.approved': { when: 'a person approved a review', data: EventDecisionSchema },
  'decision.declined': { when: 'a person declined a review', data: EventDecisionSchema },
  'decision.confirmed': { when: 'a decision was confirmed: its action happened', data: EventDecisionSchema },
  'decision.rejected': {
    when: 'a decision was rejected: its action did not happen, or the request was withdrawn',
    data: EventDecisionSchema,
  },
  'decision.corrected': { when: 'an operator corrected the outcome of a decision', data: EventDecisionSchema },
  'decision.expired': { when: 'a decision expired', data: EventDecisionSchema },
  'budget.threshold': {
    when: 'the spent and reserved amount of a budget account reached 50, 80 or 100 percent of the limit; sent once for each account and threshold',
    data: BudgetThresholdSchema,
  },
  'budget.exceeded': {
    when: 'a request was refused because a budget had no room; sent at most once a minute for each account',
    data: BudgetExceededSchema,
  },
  'policy.created': { when: 'a policy was created', data: EventPolicySchema },
  'policy.updated': { when: 'a policy was replaced', data: EventPolicySchema },
  'policy.deleted': { when: 'a policy was deleted; `data` is its last revision', data: EventPolicySchema },
  'agent.suspended': { when: 'an agent was suspended', data: EventAgentSchema },
  'agent.resumed': { when: 'an agent was resumed', data: EventAgentSchema },
  'key.created': { when: 'an API key was created', data: EventKeySchema },
  'key.revoked': { when: 'an API key was revoked', data: EventKeySchema },
  'webhook.disabled': {
    when: 'a webhook was disabled, by a PUT or because it failed; sent to the other webhooks',
    data: WebhookSchema,
  },
  'webhook.test': { when: 'you request it with POST /v1/webhooks/{id}/test', data: WebhookSchema },
}
