/**
 * Returns records as the store holds them. A program that compares them with the audit log needs every field that the
 * entries bind.
 */
import { accountId, damagedRecord, keyState, metadataHash, webhookState } from '@countersign/audit-log'
import type { AuditRecord, AuditRecordKind, JsonObject, Scope } from '@countersign/contract'
import type { DecisionWithRequest } from '../../ports/store/decisions.js'
import type { StoredAgent } from '../../ports/store/documents.js'
import { DamagedRecordError } from '../../ports/store/errors.js'
import type { Page, PageRequest } from '../../ports/store/page.js'
import type { Store } from '../../ports/store/store.js'

export interface RecordReads {
  readonly store: Pick<Store, 'agents' | 'decisions' | 'accounts' | 'policies' | 'keys' | 'webhooks'>
}

/** The scope of the routes that show the same data. */
export const SCOPE_OF_RECORD: Readonly<Record<AuditRecordKind, Scope>> = {
  decision: 'decisions:read',
  policy: 'policies:read',
  agent: 'agents:read',
  key: 'keys:read',
  webhook: 'webhooks:read',
  account: 'budgets:read',
}

/**
 * Lists all records of a kind: the present revisions of policies, and every agent that was ever written. With an id it
 * lists the records of that name: for a policy all its revisions, also after its deletion. A damaged row is listed
 * under its row id, without its document.
 *
 * @param now the calendar time, for the store
 */
export async function listRecords(
  reads: RecordReads,
  kind: AuditRecordKind,
  id: string | null,
  page: PageRequest,
  now: string,
): Promise<Page<AuditRecord>> {
  const damaged: AuditRecord[] = []
  const onDamaged = ({ id, member, stored }: DamagedRecordError) =>
    void damaged.push({ kind, id, record: damagedRecord({ member, stored }) })
  const { items, next } = await listSound(reads, kind, id, { ...page, onDamaged }, now)
  return { items: [...items, ...damaged], next }
}

interface PageOfRecords extends PageRequest {
  readonly onDamaged: (error: DamagedRecordError) => void
}

async function listSound(
  { store }: RecordReads,
  kind: AuditRecordKind,
  id: string | null,
  page: PageOfRecords,
  now: string,
): Promise<Page<AuditRecord>> {
  const record = (one: string, held: object): AuditRecord => ({ kind, id: one, record: held as JsonObject })
  const decision = (found: DecisionWithRequest) =>
    record(found.decision.id, { ...found.decision, request: found.request })
  const agent = async (found: StoredAgent) =>
    record(found.id, { ...found, registrations: await registrationsOf(store, found, page) })
  switch (kind) {
    case 'decision':
      if (id !== null) return one(await unlessDamaged(store.decisions.get(id), page), decision)
      return each(await store.decisions.list({ agents: null, now }, page), decision)
    case 'agent':
      if (id !== null) return one((await unlessDamaged(store.agents.get(id), page))?.agent ?? null, agent)
      return each(await store.agents.listWritten(page), agent)
    case 'policy':
      return each(
        await (id === null ? store.policies.list(page) : store.policies.listRevisions(id, page)),
        (revision) => record(revision.id, revision),
      )
    case 'key':
      return each(pageOfAll(await store.keys.load(damagedOf(id, page)), id, page), (key) =>
        record(key.id, keyState({ ...key })),
      )
    case 'webhook':
      return each(pageOfAll(await store.webhooks.load(damagedOf(id, page)), id, page), (webhook) =>
        record(webhook.id, { ...webhookState({ ...webhook }), is_deleted: webhook.deleted_at !== null }),
      )
    case 'account':
      return each(await store.accounts.list({ agents: null }, page), (account) => record(accountId(account), account))
  }
}

async function unlessDamaged<T>(found: Promise<T>, { onDamaged }: PageOfRecords): Promise<T | null> {
  try {
    return await found
  } catch (error) {
    if (!(error instanceof DamagedRecordError)) throw error
    onDamaged(error)
    return null
  }
}

/** Each page reads all keys or all webhooks, so only the first page reports the damaged ones. */
function damagedOf(id: string | null, { after, onDamaged }: PageOfRecords): PageOfRecords['onDamaged'] {
  return (error) => {
    if (id === null ? after === null : error.id === id) onDamaged(error)
  }
}

async function each<T>({ items, next }: Page<T>, view: (item: T) => AuditRecord | Promise<AuditRecord>) {
  const records: AuditRecord[] = []
  for (const item of items) records.push(await view(item))
  return { items: records, next }
}

function one<T>(found: T | null, view: (item: T) => AuditRecord | Promise<AuditRecord>): Promise<Page<AuditRecord>> {
  return each({ items: found === null ? [] : [found], next: null }, view)
}

/**
 * Returns, by revision, the hash that the audit entry contains. Computing it needs the salt, which never leaves the
 * server.
 */
async function registrationsOf(
  store: RecordReads['store'],
  agent: StoredAgent,
  { pause }: PageRequest,
): Promise<JsonObject> {
  const hashes: Record<string, string | null> = {}
  for (let revision = 1; revision <= agent.last_revision; revision += 1) {
    await pause?.()
    const held = await store.agents.getMetadata(agent.id, revision)
    if (held === null) continue
    const { salt, revision: _, ...registration } = held
    hashes[String(revision)] = salt === undefined ? null : metadataHash(salt, registration)
  }
  return hashes
}

function pageOfAll<Held extends { readonly id: string }>(
  all: readonly Held[],
  id: string | null,
  { limit, after }: PageRequest,
): Page<Held> {
  const found = all
    .filter((held) => (id === null ? after === null || held.id > after : held.id === id))
    .sort((first, second) => (first.id < second.id ? -1 : 1))
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
}
