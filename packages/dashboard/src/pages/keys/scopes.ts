/** What each scope permits, and which keys can have it. */
import type { ApiKey, Scope } from '@countersign/contract'
import type { CheckItem } from '../../components/check-list'

/** A record, so that a missing scope does not compile. */
export const SCOPE_SENTENCES: Readonly<Record<Scope, string>> = {
  'decisions:write': 'Request decisions. Claim, confirm and reject its own decisions.',
  'decisions:read': 'See all decisions and, with policies:read, their explanations.',
  'decisions:settle': 'Confirm, reject and correct decisions of other keys.',
  'reviews:write': 'Approve and decline requests of other keys.',
  'permits:redeem': 'Redeem permits, and confirm or reject their decisions.',
  'budgets:read': 'See what is spent and reserved in budgets.',
  'policies:read': 'See, check and simulate policies.',
  'policies:write': 'Create, replace and delete policies.',
  'agents:read': 'See agents and their metadata.',
  'agents:write': 'Register, change, suspend and resume agents.',
  'keys:read': 'See API keys, without their secrets.',
  'keys:write': 'Create, rotate and revoke keys with no more permissions than its own.',
  'audit:read': 'Read and export the audit log.',
  'audit:write': 'Erase requests permanently.',
  'webhooks:read': 'See webhooks with their full URLs, and their deliveries.',
  'webhooks:write': 'Create and change webhooks, which receive all decisions, policies and key metadata.',
  '*': 'Everything, including what later releases add. For operators of the server.',
}

const GROUPS: readonly { readonly title: string; readonly of: readonly string[] }[] = [
  { title: 'Everything', of: ['*'] },
  { title: 'Decisions', of: ['decisions', 'reviews', 'permits', 'budgets'] },
  { title: 'Policies', of: ['policies', 'agents'] },
  { title: 'Server', of: ['keys', 'audit', 'webhooks'] },
]

/** Scopes that affect more than single agents. */
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

/** Says why a new key cannot have the scope; null when it can. */
export function refusalOf(scope: Scope, own: Pick<ApiKey, 'scopes'>, isBound: boolean): string | null {
  if (!has(own, scope)) return 'Your own key does not have it.'
  return isBound && UNBINDABLE.has(scope) ? 'A key that is bound to agents cannot have it.' : null
}

/** Returns the scopes in the groups of the page. */
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

/** Says why the session's key cannot rotate or revoke another key; null when it can. The server has the final say. */
export function whyTooWide(own: ApiKey, { scopes, expires_at: end }: ApiKey): string | null {
  const missing = scopes.find((scope) => !has(own, scope))
  if (missing !== undefined) return `Your key is missing ${missing}, which this one has`
  if (own.agents !== null) return 'Your key is bound to agents'
  const isLonger = own.expires_at !== null && (end === null || end > own.expires_at)
  return isLonger ? 'Your key expires before this one' : null
}

function has({ scopes }: Pick<ApiKey, 'scopes'>, scope: Scope): boolean {
  return scopes.includes('*') || scopes.includes(scope)
}
