/** Converts the entries of a policy, an agent, a key or a webhook and its record to the same form. */
import type { AuditEntry, Json, JsonObject } from '@countersign/contract'
import type { Form } from './comparison.js'
import { jsonHash, metadataHash, settingsHash } from './hashes.js'

/** A record as a store holds it. */
export type HeldRecord = { readonly [member: string]: unknown }

/**
 * Converts a policy with all its revisions.
 *
 * @param revisions as a store holds them, in any order
 * @param liveRevision the present one; null for a deleted policy
 */
export function policyForm(revisions: readonly JsonObject[], liveRevision: number | null): Form {
  const deletedAt = revisions.find(({ deleted_at }) => deleted_at !== null)?.deleted_at ?? null
  return {
    live_revision: liveRevision,
    deleted_at: deletedAt,
    revisions: Object.fromEntries(revisions.map((revision) => [String(revision.version), revisionForm(revision)])),
  }
}

/**
 * Each revision says who created the policy, and when. The document may be anything, because it may have been edited.
 */
function revisionForm(revision: JsonObject): Form {
  const { document, policy_set, created_by, created_at, updated_by, updated_at } = revision
  const name = (document as JsonObject | null)?.name
  return { name, policy_set, created_by, created_at, updated_by, updated_at, document_hash: jsonHash(document) }
}

/**
 * Converts the log's entries of a policy. @param entries in the order of its changes; null without one of its creation
 */
export function policyInLog(entries: readonly AuditEntry[]): Form | null {
  const [first] = entries
  if (first?.type !== 'policy.created') return null
  const creation = { created_by: first.actor, created_at: first.data.written_at }
  const last = entries.at(-1) as AuditEntry
  const isDeleted = last.type === 'policy.deleted'
  const written = entries.filter(({ type }) => type !== 'policy.deleted')
  return {
    live_revision: isDeleted ? null : last.data.revision,
    deleted_at: isDeleted ? last.data.written_at : null,
    revisions: Object.fromEntries(
      written.map(({ actor, data: { revision, name, policy_set, written_at, document_hash } }) => [
        String(revision),
        { name, policy_set, ...creation, updated_by: actor, updated_at: written_at, document_hash },
      ]),
    ),
  }
}

/**
 * Returns the data of an agent's entry: the state after the change.
 *
 * @param agent as a store holds it
 */
export function agentState({ registration, suspended, version }: HeldRecord): JsonObject {
  const { revision = null, salt, ...held } = (registration ?? {}) as JsonObject
  const hash = typeof salt === 'string' ? metadataHash(salt, held) : null
  return { version: version as Json, revision, suspended: suspended as Json, metadata_hash: hash }
}

/**
 * Converts an agent with its former registrations.
 *
 * @param agent as a store holds it
 * @param registrations by revision: `metadata_hash` of each, null for one without a salt
 */
export function agentForm(agent: HeldRecord, registrations: JsonObject): Form {
  return { ...agentState(agent), registrations }
}

/** An agent that was never registered or suspended. */
export const UNWRITTEN_AGENT: Form = { version: 0, revision: null, suspended: null, metadata_hash: null }

/** Returns the state of the agent after an entry. Members are undefined in entries of older releases. */
export function agentAfter({ data }: AuditEntry): Form {
  const { version, revision, suspended, metadata_hash } = data
  if (version === undefined) return { version, revision: undefined, suspended: undefined, metadata_hash: undefined }
  // A registration of an older release has no salt, and so no hash.
  return { version, revision, suspended, metadata_hash: metadata_hash ?? (revision === null ? null : undefined) }
}

/** Converts the log's entries of an agent. @param entries in the order of its changes; null without any */
export function agentInLog(entries: readonly AuditEntry[]): Form | null {
  const last = entries.at(-1)
  if (last === undefined) return null
  const registered = entries.filter(({ type }) => type === 'agent.created' || type === 'agent.updated')
  return {
    ...agentAfter(last),
    registrations: Object.fromEntries(
      registered.map(({ data }) => [String(data.revision), data.metadata_hash ?? undefined]),
    ),
  }
}

/**
 * Returns the data of a key's entry: the state after the change. Secrets and sessions appear as a hash of the stored
 * value, which is itself a hash, so it cannot be used to sign in.
 *
 * @param key as a store holds it
 */
export function keyState(key: HeldRecord): JsonObject {
  const { version, name, scopes, agents, created_at, created_by, expires_at, revoked_at, secrets, sessions } = key
  const state = { version, name, scopes, agents, created_at, created_by, expires_at, revoked_at } as JsonObject
  return { ...state, secrets: hashesOf(secrets), sessions: hashesOf(sessions) }
}

function hashesOf(list: unknown): string[] {
  return ((list ?? []) as readonly unknown[]).map(jsonHash)
}

/** Converts the log's entries of a key. @param entries in the order of its changes; null without one of its creation */
export function keyInLog(entries: readonly AuditEntry[]): Form | null {
  return entries[0]?.type === 'key.created' ? keyAfter(entries.at(-1) as AuditEntry) : null
}

/** Returns the state of the key after an entry. Members are undefined in entries of older releases. */
export function keyAfter({ data }: AuditEntry): Form {
  const names = Object.keys(keyState({}))
  return Object.fromEntries(names.map((name) => [name, data.version === undefined ? undefined : data[name]]))
}

/**
 * Returns the data of a webhook's entry: the state after the change. The query of its URL may contain a secret, so only
 * the hash includes it.
 *
 * @param webhook as a store holds it
 */
export function webhookState({ version, url, events, description, disabled, salt }: HeldRecord): JsonObject {
  const settings = { url, events, description } as JsonObject
  return {
    version: version as Json,
    url: withoutQuery(String(url)),
    events: events as Json,
    enabled: disabled === null,
    settings_hash: typeof salt === 'string' ? settingsHash(salt, settings) : null,
  }
}

/** Returns null for an invalid URL, which was edited. */
function withoutQuery(url: string): string | null {
  if (!URL.canParse(url)) return null
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

/**
 * Converts the log's entries of a webhook. @param entries in the order of its changes; null without one of its creation
 */
export function webhookInLog(entries: readonly AuditEntry[]): Form | null {
  return entries[0]?.type === 'webhook.created' ? webhookAfter(entries.at(-1) as AuditEntry) : null
}

/** Returns the state of the webhook after an entry. Members are undefined in entries of older releases. */
export function webhookAfter({ type, data }: AuditEntry): Form {
  const { version, url, events, enabled, settings_hash } = data.version === undefined ? ({} as JsonObject) : data
  return { version, url, events, enabled, settings_hash, is_deleted: type === 'webhook.deleted' }
}
