/** Turns the entries of the audit log into events. The same entry makes the same events, whenever and wherever that happens. */
import {
  type AuditEntry,
  EVENT_TYPES,
  type EventType,
  LIVE_TYPES,
  type LiveType,
  typesOfChange,
} from '@countersign/contract'
import type { StoredDecision } from '@countersign/store-port/documents'
import type { FeedReads } from '@countersign/store-port/feed'
import { typeidOf } from '../typeid.js'
import { viewAgent } from '../use-cases/agents/view.js'
import { waitingReview } from '../use-cases/decisions/new-decision.js'
import { viewEventDecision } from '../use-cases/decisions/view.js'
import { viewKey } from '../use-cases/keys/view.js'
import { viewPolicy } from '../use-cases/policies/view.js'
import { viewWebhook } from '../use-cases/webhooks/view.js'
import { versionOf } from './log-reader.js'

/** An event as webhooks and live events send it. */
export interface FeedEvent {
  /** `evt_…`: the same whenever the event is made again. */
  readonly id: string
  readonly type: EventType | LiveType
  readonly timestamp: string
  readonly sequence: number | null
  /** As the catalogue in the contract says. */
  readonly data: object
  readonly subject: string
  readonly agent_id: string | null
  /** The entry that tells of it. */
  readonly entry: AuditEntry
}

export type EventReads = Pick<
  FeedReads,
  'findDecision' | 'findAgent' | 'findPolicyRevision' | 'loadKeys' | 'loadWebhooks'
>

const TYPES: ReadonlySet<string> = new Set([...EVENT_TYPES, ...LIVE_TYPES])

/**
 * The events of an entry, in order; none for most kinds of entries, and none when the object is not in the store any more.
 * A decision is shown as of the event.
 */
export async function eventsOf(reads: EventReads, entry: AuditEntry): Promise<readonly FeedEvent[]> {
  if (!TYPES.has(entry.type)) return []
  const data = await dataOf(reads, entry)
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

/** An id that the same entry and purpose always give, with the time of the entry. */
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
  const found = await reads.findDecision(entry.subject)
  return found === null ? null : viewEventDecision({ ...found.decision, ...movedPartOf(entry) })
}

/** What the entry says of the state that the decision had then. Entries of older releases say nothing. */
function movedPartOf({ type, at, data }: AuditEntry): Partial<StoredDecision> {
  if (data.version === undefined) return {}
  const { status, expires_at, budgets } = data
  const moved =
    type === 'decision.created'
      ? { review: data.effect === 'review' ? waitingReview(at, expires_at as string) : null, outcome: null }
      : { review: data.review, outcome: data.outcome }
  return { status, expires_at, budgets, ...moved } as Partial<StoredDecision>
}

/** A deletion is no revision of its own: what was deleted is the one before it. */
async function policyOf(reads: EventReads, { type, subject, data }: AuditEntry): Promise<object | null> {
  const revision = (data.revision as number) - (type === 'policy.deleted' ? 1 : 0)
  const policy = await reads.findPolicyRevision(subject, revision)
  return policy && viewPolicy(policy)
}

async function agentOf(reads: EventReads, { type, at, actor, subject, data }: AuditEntry): Promise<object | null> {
  const found = await reads.findAgent(subject)
  if (found === null) return null
  const { suspended } = found.agent
  const since = suspended !== null && suspended.at <= at ? suspended : { at, by: actor ?? '', reason: data.reason }
  return { ...viewAgent(found), suspended: type === 'agent.suspended' ? since : null }
}

async function keyOf(reads: EventReads, { type, at, subject }: AuditEntry): Promise<object | null> {
  const key = (await reads.loadKeys()).find(({ id }) => id === subject)
  if (key === undefined) return null
  return viewKey({ ...key, revoked_at: type === 'key.revoked' ? at : null }, { lastUsed: () => null })
}

async function webhookOf(reads: EventReads, { at, subject, data }: AuditEntry): Promise<object | null> {
  const webhook = (await reads.loadWebhooks()).find(({ id }) => id === subject)
  if (webhook === undefined) return null
  // What is behind the path may be a secret of the endpoint, and this goes to others.
  const { origin, pathname } = new URL(webhook.url)
  const disabled = { at, reason: data.reason as 'requested' }
  return viewWebhook({ ...webhook, url: `${origin}${pathname}`, disabled })
}
