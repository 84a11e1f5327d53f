/** What a webhook can be told of. */
import type { EventType } from '@countersign/contract'

/** Complete: one that is missing here does not compile. */
export const EVENT_SENTENCES: Readonly<Record<EventType, string>> = {
  'decision.created': 'A decision was made, whatever its effect.',
  'decision.denied': 'A decision was made that denies.',
  'decision.review_requested': 'A decision waits for a person.',
  'decision.approved': 'A person approved a review.',
  'decision.declined': 'A person declined a review.',
  'decision.confirmed': 'An action happened.',
  'decision.rejected': 'An action did not happen, or its request was withdrawn.',
  'decision.corrected': 'An operator replaced the outcome of a decision.',
  'decision.expired': 'The time of a decision was over.',
  'budget.threshold': 'A budget reached 50, 80 or 100 percent of its limit.',
  'budget.exceeded': 'A budget had no room for a request. At most once a minute.',
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

/** The types to choose from, as they are grouped on the page. */
export function eventGroups() {
  const types = Object.keys(EVENT_SENTENCES) as EventType[]
  return Object.entries(TITLES).map(([prefix, title]) => ({
    title,
    items: types
      .filter((type) => type.startsWith(`${prefix}.`))
      .map((name) => ({ name, sentence: EVENT_SENTENCES[name] })),
  }))
}
