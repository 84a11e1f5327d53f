/** The events that a webhook can receive. */
import type { EventType } from '@countersign/contract'

/** A record, so that a missing type does not compile. */
export const EVENT_SENTENCES: Readonly<Record<EventType, string>> = {
  'decision.created': 'A decision was made, with any effect.',
  'decision.denied': 'A decision denied a request.',
  'decision.review_requested': 'A decision needs a review.',
  'decision.approved': 'A person approved a review.',
  'decision.declined': 'A person declined a review.',
  'decision.confirmed': 'An action happened.',
  'decision.rejected': 'An action did not happen, or its request was withdrawn.',
  'decision.corrected': 'An operator corrected the outcome of a decision.',
  'decision.expired': 'A decision expired.',
  'budget.threshold': 'A budget reached 50, 80 or 100 percent of its limit.',
  'budget.exceeded': 'A budget had no room for a request. Sent at most once a minute.',
  'policy.created': 'A policy was created.',
  'policy.updated': 'A policy was replaced.',
  'policy.deleted': 'A policy was deleted.',
  'agent.suspended': 'An agent was suspended.',
  'agent.resumed': 'An agent was resumed.',
  'key.created': 'An API key was created.',
  'key.revoked': 'An API key was revoked.',
  'webhook.disabled': 'Another webhook was disabled.',
}

const TITLES: Readonly<Record<string, string>> = {
  decision: 'Decisions',
  budget: 'Budgets',
  policy: 'Policies',
  agent: 'Agents',
  key: 'API keys',
  webhook: 'Webhooks',
}

/** Returns the types in the groups of the page. */
export function eventGroups() {
  const types = Object.keys(EVENT_SENTENCES) as EventType[]
  return Object.entries(TITLES).map(([prefix, title]) => ({
    title,
    items: types
      .filter((type) => type.startsWith(`${prefix}.`))
      .map((name) => ({ name, sentence: EVENT_SENTENCES[name] })),
  }))
}
