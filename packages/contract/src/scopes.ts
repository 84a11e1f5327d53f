/** Every scope that an API key can have; `*` includes all of them. Source: docs/concepts.md "API keys". */
export const SCOPES = [
  'decisions:write',
  'decisions:read',
  'reviews:write',
  'policies:read',
  'policies:write',
  'agents:read',
  'agents:write',
  'budgets:read',
  'decisions:settle',
  'permits:redeem',
  'keys:read',
  'keys:write',
  'audit:read',
  'audit:write',
  'webhooks:read',
  'webhooks:write',
  '*',
] as const

export type Scope = (typeof SCOPES)[number]

/** Scopes that a key bound to agents cannot have, because they go beyond a single agent. */
export const UNBINDABLE_SCOPES: readonly Scope[] = [
  'policies:write',
  'keys:write',
  'webhooks:read',
  'webhooks:write',
  'audit:read',
  'audit:write',
  'agents:write',
  '*',
]
