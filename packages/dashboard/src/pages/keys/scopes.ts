/** What each scope of a key opens, and which keys can have it. */
import type { ApiKey, Scope } from '@countersign/contract'
import type { CheckItem } from '../../components/check-list'

/** Complete: one that is missing here does not compile. */
export const SCOPE_SENTENCES: Readonly<Record<Scope, string>> = {
  'decisions:write': 'Ask for decisions. Claim, confirm and reject what it asked for.',
  'decisions:read': 'See all decisions. With policies:read, also why.',
  'decisions:settle': 'Confirm, reject and correct decisions of other keys.',
  'reviews:write': 'Approve and decline what other keys asked for.',
  'permits:redeem': 'Use permits up, and confirm or reject their decisions.',
  'budgets:read': 'See what budgets have spent and reserved.',
  'policies:read': 'See, check and simulate policies.',
  'policies:write': 'Create, replace and delete policies.',
  'agents:read': 'See agents and their metadata.',
  'agents:write': 'Register, change, suspend and resume agents.',
  'keys:read': 'See API keys, without their secrets.',
  'keys:write': 'Create, rotate and revoke keys that have no more rights than itself.',
  'audit:read': 'Read and export the audit log.',
  'audit:write': 'Erase requests, for good.',
  'webhooks:read': 'See webhooks with their whole URLs, and what was delivered.',
  'webhooks:write': 'Create and change webhooks. They get all decisions, policies and data about keys.',
  '*': 'Everything, also what later releases add. For people who run the server.',
}

const GROUPS: readonly { readonly title: string; readonly of: readonly string[] }[] = [
  { title: 'Everything', of: ['*'] },
  { title: 'Decisions', of: ['decisions', 'reviews', 'permits', 'budgets'] },
  { title: 'Rules', of: ['policies', 'agents'] },
  { title: 'Server', of: ['keys', 'audit', 'webhooks'] },
]

/** They act beyond any one agent. */
export const UNBINDABLE: ReadonlySet<Scope> = new Set<Scope>([
  'policies:write',
  'keys:write',
  'webhooks:read',
  'webhooks:write',
  'audit:read',
  'audit:write',
  'agents:write',
  '*',
])

/** Why a new key cannot have the scope; null when it can. */
export function refusalOf(scope: Scope, own: Pick<ApiKey, 'scopes'>, isBound: boolean): string | null {
  if (!has(own, scope)) return 'Your own key lacks it.'
  return isBound && UNBINDABLE.has(scope) ? 'A key that is bound to agents cannot have it.' : null
}

/** The scopes to choose from, as they are grouped on the page. */
export function scopeGroups(refusal: (scope: Scope) => string | null) {
  const scopes = Object.keys(SCOPE_SENTENCES) as Scope[]
  const itemOf = (name: Scope): CheckItem<Scope> => ({
    name,
    sentence: SCOPE_SENTENCES[name],
    refusal: refusal(name),
  })
  return GROUPS.map(({ title, of }) => ({
    title,
    items: scopes.filter((scope) => of.includes(scope.split(':')[0] as string)).map(itemOf),
  }))
}

/** Why the key of the session cannot rotate or revoke another one; null when it may. The server has the last word. */
export function whyTooWide(own: ApiKey, { scopes, expires_at: end }: ApiKey): string | null {
  const missing = scopes.find((scope) => !has(own, scope))
  if (missing !== undefined) return `Your key lacks ${missing}, which this one has`
  if (own.agents !== null) return 'Your key is bound to agents'
  const isLonger = own.expires_at !== null && (end === null || end > own.expires_at)
  return isLonger ? 'Your key expires before this one' : null
}

function has({ scopes }: Pick<ApiKey, 'scopes'>, scope: Scope): boolean {
  return scopes.includes('*') || scopes.includes(scope)
}
