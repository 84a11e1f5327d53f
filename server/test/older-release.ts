/** A store as a release before entries bound records wrote it: with that release's entries and records, by its own adapter. */
import { leafHash } from '@countersign/audit-log'
import type { AuditEntry, JsonObject } from '@countersign/contract'
import type { Mutation, Store } from '#server/ports/store/store'
import { openStoreWith } from './store-with.js'

/** What entries of that release had in `data`, by the first word of their type. */
const OLDER_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  decision: [
    ...['effect', 'reason_code', 'policy_id', 'policy_revision', 'policy_set', 'rule', 'action', 'request'],
    ...['comment', 'self_approved', 'holder', 'outcome', 'committed'],
  ],
  policy: ['name', 'revision', 'policy_set'],
  agent: ['revision', 'reason'],
  key: ['name', 'scopes', 'agents', 'grace_seconds'],
  webhook: ['url', 'events', 'enabled', 'reason', 'secret_rotated', 'grace_seconds'],
  request: [],
}

export function openOlderStore(dataDir: string): Promise<Store> {
  return openStoreWith(dataDir, (store) => ({ commit: (mutations) => store.commit(mutations.map(older)) }))
}

function older(mutation: Mutation): Mutation {
  const { change, entry } = mutation
  if (entry === null) return mutation
  const written = olderEntry(entry)
  // The feed is told of the entry itself, which must be the one in the store.
  for (const member of Object.keys(entry)) Reflect.deleteProperty(entry, member)
  Object.assign(entry, written)
  return { ...mutation, change: olderChange(change, entry), entry }
}

function olderEntry(entry: AuditEntry): AuditEntry {
  const { trace_id: _, ...untraced } = entry
  const names = OLDER_MEMBERS[entry.type.slice(0, entry.type.indexOf('.'))]
  if (names === undefined) return { ...untraced, leaf: leafHash(untraced) }
  const data = Object.fromEntries(Object.entries(entry.data).filter(([name]) => names.includes(name)))
  const unhashed = { ...untraced, data: olderData(entry, data) }
  return { ...unhashed, leaf: leafHash(unhashed) }
}

function olderData({ type }: AuditEntry, data: JsonObject): JsonObject {
  if (type === 'agent.suspended') return { reason: data.reason ?? null }
  if (type === 'agent.created' || type === 'agent.updated') return { revision: data.revision ?? null }
  if (type.startsWith('agent.')) return {}
  if (type === 'webhook.deleted' || data.secret_rotated === true) {
    const { url: _, events: __, enabled: ___, ...said } = data
    return said
  }
  if (type === 'key.created' || !type.startsWith('key.')) return data
  return data.grace_seconds === undefined ? {} : { grace_seconds: data.grace_seconds }
}

function olderChange(change: Mutation['change'], entry: AuditEntry): Mutation['change'] {
  if (change.kind === 'decision.create')
    return { ...change, decision: { ...change.decision, audit: { ...change.decision.audit, leaf: entry.leaf } } }
  if (change.kind === 'webhook.write') {
    const { salt: _, ...webhook } = change.webhook
    return { ...change, webhook }
  }
  if (change.kind !== 'agent.write' || change.agent.registration === null) return change
  const { salt: _, ...registration } = change.agent.registration
  return { ...change, agent: { ...change.agent, registration } }
}
