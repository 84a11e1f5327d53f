/** Turns the entries of the audit log into events. The same entry always gives the same events, in every process. */
import {
  type AuditEntry,
  EVENT_TYPES,
  type EventType,
  LIVE_TYPES,
  type LiveType,
  typesOfChange,
} from '@countersign/contract'
import { waitingReview } from '@countersign/contract/waiting-review'
import type { StoredDecision } from '../ports/store/documents.js'
import { DamagedRecordError } from '../ports/store/errors.js'
import type { FeedStore } from '../ports/store/feed.js'
import { leaveOut } from '../ports/store/row-document.js'
import { findWebhook } from '../ports/store/webhooks.js'
import { typeidOf } from '../typeid.js'
import { viewEventAgent } from '../use-cases/agents/view.js'
import { versionOf } from '../use-cases/audit/log-reader.js'
import { viewEventDecision } from '../use-cases/decisions/view.js'
import { viewEventKey } from '../use-cases/keys/view.js'
import { viewEventPolicy } from '../use-cases/policies/view.js'
import { viewWebhook } from '../use-cases/webhooks/view.js'

/** An event as webhooks and live events send it. */
export interface FeedEvent {
  /** `evt_…`: the same each time the event is built. */
  readonly id: string
  readonly type: EventType | LiveType
  readonly timestamp: string
  readonly sequence: number | null
  /** In the form that the event catalogue of the contract defines. */
  readonly data: object
  readonly subject: string
  readonly agent_id: string | null
  /** The entry that the event comes from. */
  readonly entry: AuditEntry
}

export type EventReads = Pick<FeedStore, 'decisions' | 'agents' | 'policies' | 'keys' | 'webhooks'>

const TYPES: ReadonlySet<string> = new Set([...EVENT_TYPES, ...LIVE_TYPES])

/**
 * Returns the events of an entry, in order: none for most kinds of entries, and none when the object is no longer in
 * the store. A decision is shown as of the event.
 */
export async function eventsOf(reads: EventReads, entry: AuditEntry): Promise<readonly FeedEvent[]> {
  if (!TYPES.has(entry.type)) return []
  const data = await unlessDamaged(dataOf(reads, entry))
  if (data === null) return []
  const told = { timestamp: entry.at, sequence: versionOf(entry), data, entry }
  const about = { subject: entry.subject, agent_id: entry.agent_id }
  return typesOfChange(entry.type as FeedEvent['type'], entry.data.effect).map((type, i) => ({
    id: i === 0 ? `evt_${entry.id.slice('aud_'.length)}` : derivedId('evt', entry, type),
    type,
    ...told,
    ...about,
  }))
}

/** An object with a damaged row is not shown, and does not block other events. */
async function unlessDamaged(data: Promise<object | null> | object): Promise<object | null> {
  try {
    return await data
  } catch (error) {
    if (error instanceof DamagedRecordError) return null
    throw error
  }
}

/** Returns null for an object that was edited so that it cannot be shown. */
function shown(view: () => object): object | null {
  try {
    return view()
  } catch {
    return null
  }
}

/** Returns an id that depends only on the entry and the purpose, and that carries the time of the entry. */
export function derivedId(prefix: string, { at, id }: Pick<AuditEntry, 'at' | 'id'>, purpose: string): string {
  return typeidOf(prefix, Date.parse(at), `${id} ${purpose}`)
}

function dataOf(reads: EventReads, entry: AuditEntry): Promise<object | null> | object {
  switch (entry.type.slice(0, entry.type.indexOf('.'))) {
    case 'decision':
      return decisionOf(reads, entry)
    case 'policy':
      return policyOf(reads, entry)
    case 'agent':
      return agentOf(reads, entry)
    case 'key':
      return keyOf(reads, entry)
    case 'webhook':
      return webhookOf(reads, entry)
    default:
      return entry.data
  }
}

async function decisionOf(reads: EventReads, entry: AuditEntry): Promise<object | null> {
  const found = await reads.decisions.get(entry.subject)
  return found && shown(() => viewEventDecision({ ...found.decision, ...movedPartOf(entry) }))
}

/** Returns what the entry says about the state of the decision at that time. Entries of older releases say nothing. */
function movedPartOf({ type, at, data }: AuditEntry): Partial<StoredDecision> {
  if (data.version === undefined) return {}
  const { status, expires_at, budgets } = data
  const moved =
    type === 'decision.created'
      ? { review: data.effect === 'review' ? waitingReview(at, expires_at as string) : null, outcome: null }
      : { review: data.review, outcome: data.outcome }
  return { status, expires_at, budgets, ...moved } as Partial<StoredDecision>
}

/** A deletion is not a revision: the deleted policy is the revision before it. */
async function policyOf(reads: EventReads, { type, subject, data }: AuditEntry): Promise<object | null> {
  const revision = (data.revision as number) - (type === 'policy.deleted' ? 1 : 0)
  const policy = await reads.policies.getRevision(subject, revision)
  return policy && shown(() => viewEventPolicy(policy))
}

async function agentOf(reads: EventReads, { type, at, actor, subject, data }: AuditEntry): Promise<object | null> {
  const found = await reads.agents.get(subject)
  if (found === null) return null
  return shown(() => {
    const { suspended } = found.agent
    const since = suspended !== null && suspended.at <= at ? suspended : { at, by: actor ?? '', reason: data.reason }
    return { ...viewEventAgent(found), suspended: type === 'agent.suspended' ? since : null }
  })
}

async function keyOf(reads: EventReads, { type, at, subject }: AuditEntry): Promise<object | null> {
  const key = (await reads.keys.load(leaveOut)).find(({ id }) => id === subject)
  if (key === undefined) return null
  return shown(() => viewEventKey({ ...key, revoked_at: type === 'key.revoked' ? at : null }))
}

async function webhookOf(reads: EventReads, { at, subject, data }: AuditEntry): Promise<object | null> {
  const webhook = await findWebhook(reads.webhooks, subject)
  if (webhook === null) return null
  return shown(() => {
    // The query may contain a secret of the endpoint, and others receive this event.
    const { origin, pathname } = new URL(webhook.url)
    const disabled = { at, reason: data.reason as 'requested' }
    return viewWebhook({ ...webhook, url: `${origin}${pathname}`, disabled })
  })
}
