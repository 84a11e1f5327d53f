/** What the formats for security systems say about each type of entry. docs/siem.md has the same table. */
import type { AuditEntry, AuditType } from '@countersign/client'

/** Severities of OCSF. */
export const SEVERITY = { informational: 1, low: 2, medium: 3, high: 4 } as const
export type Severity = keyof typeof SEVERITY

/** Activities of the OCSF class 6003, API Activity. */
export const API_ACTIVITY = { Create: 1, Update: 3, Delete: 4, Other: 99 } as const
/** Activities of the OCSF class 3001, Account Change. */
export const ACCOUNT_ACTIVITY = {
  Create: 1,
  Enable: 2,
  'Password Change': 3,
  Disable: 5,
  Delete: 6,
  Other: 99,
} as const

export type EntryKind = {
  /** What happened, for a person. */
  readonly title: string
  readonly severity: Severity
} & (
  | { readonly api: keyof typeof API_ACTIVITY }
  | { readonly account: keyof typeof ACCOUNT_ACTIVITY; readonly holder: 'Agent' | 'API key' }
)

/** A type that is missing here does not compile. */
export const ENTRY_KINDS: Readonly<Record<AuditType, EntryKind>> = {
  'decision.created': { title: 'Decision made', severity: 'informational', api: 'Create' },
  'decision.approved': { title: 'Review approved', severity: 'informational', api: 'Update' },
  'decision.declined': { title: 'Review declined', severity: 'low', api: 'Update' },
  'decision.claimed': { title: 'Decision claimed', severity: 'informational', api: 'Update' },
  'decision.confirmed': { title: 'Action ran', severity: 'informational', api: 'Update' },
  'decision.rejected': { title: 'Action did not run', severity: 'informational', api: 'Update' },
  'decision.corrected': { title: 'Outcome corrected', severity: 'low', api: 'Update' },
  'decision.expired': { title: 'Decision expired', severity: 'informational', api: 'Update' },
  'decision.redeemed': { title: 'Permit redeemed', severity: 'informational', api: 'Update' },
  'policy.created': { title: 'Policy created', severity: 'low', api: 'Create' },
  'policy.updated': { title: 'Policy updated', severity: 'low', api: 'Update' },
  'policy.deleted': { title: 'Policy deleted', severity: 'medium', api: 'Delete' },
  'agent.created': { title: 'Agent created', severity: 'informational', account: 'Create', holder: 'Agent' },
  'agent.updated': { title: 'Agent updated', severity: 'informational', account: 'Other', holder: 'Agent' },
  'agent.deleted': { title: 'Agent deleted', severity: 'low', account: 'Delete', holder: 'Agent' },
  'agent.suspended': { title: 'Agent suspended', severity: 'medium', account: 'Disable', holder: 'Agent' },
  'agent.resumed': { title: 'Agent resumed', severity: 'low', account: 'Enable', holder: 'Agent' },
  'key.created': { title: 'API key created', severity: 'low', account: 'Create', holder: 'API key' },
  'key.rotated': { title: 'API key rotated', severity: 'low', account: 'Password Change', holder: 'API key' },
  'key.revoked': { title: 'API key revoked', severity: 'low', account: 'Disable', holder: 'API key' },
  'key.signed_in': { title: 'Signed in with an API key', severity: 'informational', api: 'Other' },
  'key.signed_out': { title: 'Signed out', severity: 'informational', api: 'Other' },
  'webhook.created': { title: 'Webhook created', severity: 'low', api: 'Create' },
  'webhook.updated': { title: 'Webhook updated', severity: 'low', api: 'Update' },
  'webhook.deleted': { title: 'Webhook deleted', severity: 'low', api: 'Delete' },
  'webhook.disabled': { title: 'Webhook disabled', severity: 'medium', api: 'Update' },
  'budget.threshold': { title: 'Budget threshold reached', severity: 'low', api: 'Other' },
  'budget.exceeded': { title: 'Budget exceeded', severity: 'medium', api: 'Other' },
  'signing_key.created': { title: 'Signing key created', severity: 'low', api: 'Create' },
  'signing_key.rotated': { title: 'Signing key rotated', severity: 'low', api: 'Update' },
  'signing_key.revoked': { title: 'Signing key revoked', severity: 'medium', api: 'Delete' },
  'store.loss_accepted': { title: 'Loss of entries accepted', severity: 'high', api: 'Other' },
  'log.rewrite_accepted': { title: 'Rewritten log accepted', severity: 'high', api: 'Other' },
  'request.erased': { title: 'Request erased', severity: 'low', api: 'Delete' },
  'decisions.removed': { title: 'Old decisions removed', severity: 'informational', api: 'Delete' },
  void: { title: 'Nothing happened at this index', severity: 'informational', api: 'Other' },
}

/** A newer server may have types that this release does not know: they come, too. */
const UNKNOWN: EntryKind = { title: 'Change of a newer release', severity: 'informational', api: 'Other' }

export interface SeenEntry {
  readonly kind: EntryKind
  readonly severity: Severity
  /** How it went: for a decision, whether the request was granted. */
  readonly status: 'Success' | 'Failure' | 'Awaiting review'
}

/** Returns what the kind and the data of an entry say. A denied request is worth more attention than an allowed one. */
export function seen({ type, data }: AuditEntry): SeenEntry {
  const kind = Object.hasOwn(ENTRY_KINDS, type) ? ENTRY_KINDS[type] : UNKNOWN
  const isRefused = type === 'decision.declined' || type === 'budget.exceeded'
  if (type !== 'decision.created') return { kind, severity: kind.severity, status: isRefused ? 'Failure' : 'Success' }
  if (data.effect === 'deny') return { kind, severity: 'low', status: 'Failure' }
  return { kind, severity: kind.severity, status: data.effect === 'review' ? 'Awaiting review' : 'Success' }
}

/** Returns a member of the data that is a text; undefined for any other value. */
export function textIn({ data }: AuditEntry, member: string): string | undefined {
  const value = Object.hasOwn(data, member) ? data[member] : undefined
  return typeof value === 'string' ? value : undefined
}
