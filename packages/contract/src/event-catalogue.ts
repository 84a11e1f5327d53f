import type { z } from 'zod'
import { AgentSchema } from './agent.js'
import { EventDecisionSchema } from './decision.js'
import { BudgetExceededSchema, BudgetThresholdSchema, type WebhookType } from './event.js'
import { KeySchema } from './key.js'
import { PolicySchema } from './policy.js'
import { WebhookSchema } from './webhook.js'

/** When an event of a type is sent, and what its `data` is. */
export interface EventEntry {
  /** Completes the sentence "It is sent when …". */
  readonly when: string
  readonly data: z.ZodType
}

/** Every type of event. docs/reference/events.md is generated from here. */
export const EVENTS: Readonly<Record<WebhookType, EventEntry>> = {
  'decision.created': { when: 'a decision was made, whatever its effect', data: EventDecisionSchema },
  'decision.denied': {
    when: 'a decision was made that denies; after its `decision.created`',
    data: EventDecisionSchema,
  },
  'decision.review_requested': {
    when: 'a decision was made that awaits a review; after its `decision.created`',
    data: EventDecisionSchema,
  },
  'decision.approved': { when: 'a person approved a review', data: EventDecisionSchema },
  'decision.declined': { when: 'a person declined a review', data: EventDecisionSchema },
  'decision.confirmed': { when: 'a decision was confirmed: its action happened', data: EventDecisionSchema },
  'decision.rejected': {
    when: 'a decision was rejected: its action did not happen, or the request was withdrawn',
    data: EventDecisionSchema,
  },
  'decision.corrected': { when: 'an operator replaced the outcome of a decision', data: EventDecisionSchema },
  'decision.expired': { when: 'a decision ended because its time was over', data: EventDecisionSchema },
  'budget.threshold': {
    when: 'the spent and reserved sum of a budget account reached 50, 80 or 100 percent of the limit, once for each account and threshold',
    data: BudgetThresholdSchema,
  },
  'budget.exceeded': {
    when: 'a decision was refused because a budget had no room, at most once a minute for each account',
    data: BudgetExceededSchema,
  },
  'policy.created': { when: 'a policy was created', data: PolicySchema },
  'policy.updated': { when: 'a policy was replaced', data: PolicySchema },
  'policy.deleted': { when: 'a policy was deleted; `data` is its last revision', data: PolicySchema },
  'agent.suspended': { when: 'an agent was suspended', data: AgentSchema },
  'agent.resumed': { when: 'an agent was resumed', data: AgentSchema },
  'key.created': { when: 'an API key was created', data: KeySchema },
  'key.revoked': { when: 'an API key was revoked', data: KeySchema },
  'webhook.disabled': {
    when: 'a webhook was disabled, by a PUT or because it failed. Other endpoints get the event',
    data: WebhookSchema,
  },
  'webhook.test': { when: 'somebody asked for it with POST /v1/webhooks/{id}/test', data: WebhookSchema },
}
