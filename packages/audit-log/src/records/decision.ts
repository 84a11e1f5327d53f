/** Converts the entries of a decision and its record to the same form. */
import type { AuditEntry, Json, JsonObject } from '@countersign/contract'
import { fromMicro } from '@countersign/contract/micro'
import { waitingReview } from '@countersign/contract/waiting-review'
import { countedAfter, moveOf } from '../export/recomputed-budgets.js'
import type { Form } from './comparison.js'
import { recordVersionOf } from './entries-of.js'
import { detailsHash, jsonHash, saltedHash } from './hashes.js'

/** A decision as a store holds it, or as a page shows it beside that. */
export type DecisionRecord = JsonObject & {
  /** The stored request; its members are null when it was erased. */
  readonly request: { readonly context: Json; readonly salt: string | null }
}

/** Members of `decision.created` that the record has under the same name. */
const DECIDED = [
  'effect',
  'reason_code',
  'policy_id',
  'policy_revision',
  'policy_set',
  'rule',
  'action',
  'latency_ms',
] as const
/** Members in every entry of a change, as they were right after. */
const MOVED = ['status', 'expires_at', 'budgets', 'review', 'outcome'] as const

/** Converts the record, with hashes instead of the request and of everything that the log has as a hash. */
export function decisionForm(record: DecisionRecord): Form {
  const { version, agent_id, key_id, effect, holder, claimed_at, redeemed, postings, audit, evaluated_at } = record
  const { reason, advice, shadow, agent_revision, request_id } = record
  const details = { effect, reason, advice, shadow, evaluated_at, agent_revision, request_id, holder }
  return {
    version,
    agent_id,
    key_id,
    ...pick(record, DECIDED),
    ...pick(record, MOVED),
    trace_id: record.trace_id ?? null,
    audit,
    request: requestForm(record),
    request_erased_at: record.request_erased_at ?? null,
    details: detailsHash(details),
    evaluated_at,
    ...(effect === 'review' && { holder }),
    claimed_at,
    redeemed,
    postings,
  }
}

/** Returns null when the request was erased. */
function requestForm({ agent_id, action, resource, request_hash, request: { context, salt } }: DecisionRecord): Json {
  if (salt === null && context === null && resource === null && request_hash === null) return null
  const hash = jsonHash({ action, agent_id, context, resource })
  if (hash !== request_hash) return `the request hash of the context, the resource, the action and the agent is ${hash}`
  return salt === null ? 'there is no salt' : saltedHash(salt, hash)
}

/**
 * Converts the entries in the log.
 *
 * @param entries of the decision, in the order of its changes
 * @param evaluatedAt of the record: `details` binds it
 * @returns null without the entry of its creation
 */
export function decisionInLog(entries: readonly AuditEntry[], evaluatedAt: Json): Form | null {
  const form = decisionStates(entries, evaluatedAt).at(-1)
  if (form === undefined) return null
  const version = recordVersionOf(entries.at(-1) as AuditEntry) ?? entries.length
  return { ...form, version, postings: postingsAfter(entries) }
}

/** Returns the form after each entry. Empty without the entry of the creation. */
export function decisionStates(entries: readonly AuditEntry[], evaluatedAt: Json): readonly Form[] {
  const [created, ...changes] = entries
  if (created?.type !== 'decision.created') return []
  const { log, index, leaf, data, actor, agent_id, trace_id = null } = created
  const states: Form[] = [
    {
      agent_id,
      key_id: actor,
      ...pick(data, DECIDED),
      // An entry of an older release has none, like its decision.
      trace_id,
      audit: { log, index, leaf },
      request: data.request,
      request_erased_at: null,
      details: data.details,
      evaluated_at: data.details === undefined ? undefined : evaluatedAt,
      ...(data.effect === 'review' && { holder: null }),
      claimed_at: null,
      redeemed: null,
      ...firstState(created, evaluatedAt),
    },
  ]
  for (const entry of changes) states.push({ ...(states.at(-1) as Form), ...changeOf(entry) })
  return states
}

function firstState({ data }: AuditEntry, evaluatedAt: Json): Form {
  const { status, expires_at, budgets, effect } = data
  if (status === undefined) return pick({}, MOVED)
  const requested_at = evaluatedAt === null ? undefined : evaluatedAt
  const review =
    effect === 'review' ? { ...waitingReview(String(evaluatedAt), String(expires_at)), requested_at } : null
  return { status, expires_at, budgets, review, outcome: null }
}

function changeOf({ type, data, agent_id }: AuditEntry): Form {
  if (type === 'request.erased') return { agent_id, request: null, request_erased_at: data.request_erased_at }
  return {
    agent_id,
    ...pick(data, MOVED),
    ...(type === 'decision.claimed' && { holder: { name: data.holder }, claimed_at: data.claimed_at }),
    ...(type === 'decision.redeemed' && { redeemed: data.redeemed }),
  }
}

/** Finds entries whose settlement starts from another amount than the earlier entries give. */
export function settledOtherwise(entries: readonly AuditEntry[]): readonly SettledOtherwise[] {
  const found: SettledOtherwise[] = []
  const moves = entries.map(moveOf).filter((move) => move !== null)
  countedAfter(moves, ({ entry }, before, settled) => {
    for (const [path, counted, said] of [
      ['committed.was', before.spent, settled.was],
      ['committed.reserved', before.reserved, settled.reserved],
    ] as const)
      if (counted !== said) found.push({ path, logged: fromMicro(counted), stored: fromMicro(said), entryId: entry.id })
  })
  return found
}

interface SettledOtherwise {
  readonly path: string
  /** In the unit of the budget: from the earlier entries, and from this entry. */
  readonly logged: number
  readonly stored: number
  readonly entryId: string
}

/** Undefined when one of the entries comes from a release that did not name accounts. */
function postingsAfter(entries: readonly AuditEntry[]): Json | undefined {
  if (entries.some(({ data: { version } }) => version === undefined)) return undefined
  const moves = entries.map(moveOf).filter((move) => move !== null)
  if (moves[0]?.rows == null && hasBudget(entries[0])) return undefined
  const reserved = countedAfter(moves).filter(({ row }) => row.is_reserved)
  if (reserved.some(({ row: { reads_amount } }) => reads_amount === undefined)) return undefined
  return reserved.map(({ row, spent, reserved }) => ({
    account: {
      policy_id: row.policy_id,
      unit: row.unit,
      period: row.period,
      agent_id: row.agent_id,
      starts_at: row.starts_at,
    },
    amount: String(row.reserved),
    reads_amount: row.reads_amount as boolean,
    spent: String(spent),
    reserved: String(reserved),
  }))
}

function hasBudget(entry: AuditEntry | undefined): boolean {
  return Array.isArray(entry?.data.budgets) && entry.data.budgets.length > 0
}

function pick(from: JsonObject, names: readonly string[]): Form {
  return Object.fromEntries(names.map((name) => [name, from[name]]))
}
