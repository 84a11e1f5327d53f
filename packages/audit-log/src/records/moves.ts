/**
 * Checks that the entries of a record follow from each other. If a record is edited in the database, the server writes
 * the edited values into its next entry. So each entry may change only what its type changes, and only where that is
 * allowed.
 */
import type { AuditEntry, DecisionStatus, Json } from '@countersign/contract'
import { type DecisionMove, isLegalMove } from '@countersign/contract/decision-moves'
import { compareForms, type Form, type Member, placeOf, type RecordDifference } from './comparison.js'
import { decisionStates, settledOtherwise } from './decision.js'
import { agentAfter, keyAfter, UNWRITTEN_AGENT, webhookAfter } from './directory.js'
import { recordVersionOf } from './entries-of.js'

type RecordName = Pick<RecordDifference, 'kind' | 'id'>

/** A record after an entry. */
interface State {
  /** Undefined: before the first one. */
  readonly entry: AuditEntry | undefined
  /** Null in entries of older releases. */
  readonly version: number | null
  readonly form: Form
}

const ANSWERED = ['status', 'decided_by', 'decided_at', 'comment', 'self_approved'].map((name) => `review.${name}`)
const OUTCOME = ['result', 'amount', 'note', 'at', 'overage', 'corrected'].map((name) => `outcome.${name}`)

/** The members that an entry may change, by its type. `outcome` only where there was none. */
const CHANGED: Readonly<Record<string, readonly string[]>> = {
  'decision.approved': [
    ...['status', 'expires_at', 'budgets', ...ANSWERED],
    ...['review.policy_id', 'review.policy_revision', 'review.rule'],
  ],
  'decision.declined': ['status', ...ANSWERED],
  'decision.claimed': ['status', 'expires_at', 'holder', 'claimed_at'],
  'decision.redeemed': ['redeemed'],
  'decision.confirmed': ['status', 'outcome'],
  'decision.rejected': ['status', 'outcome'],
  'decision.corrected': ['status', ...OUTCOME],
  'decision.expired': ['status'],
  'request.erased': ['request', 'request_erased_at'],
  'policy.updated': ['name', 'policy_set'],
  'policy.deleted': ['is_deleted', 'policy_set'],
  'agent.created': ['revision', 'last_revision', 'metadata_hash'],
  'agent.updated': ['revision', 'last_revision', 'metadata_hash'],
  'agent.deleted': ['revision', 'metadata_hash'],
  'agent.suspended': ['suspended'],
  'agent.resumed': ['suspended'],
  'key.rotated': ['secrets', 'sessions'],
  'key.revoked': ['revoked_at'],
  'key.signed_in': ['sessions'],
  'key.signed_out': ['sessions'],
  'webhook.updated': ['url', 'events', 'enabled', 'settings_hash'],
  'webhook.disabled': ['enabled'],
  'webhook.deleted': ['is_deleted'],
}

/** Members that an entry may set only once. */
const ONCE: Readonly<Record<string, string>> = {
  'decision.redeemed': 'redeemed',
  'request.erased': 'request_erased_at',
}

/** Moves that evaluate the policies again. */
const NEEDS_REQUEST: ReadonlySet<string> = new Set(['decision.approved', 'decision.claimed'])

/**
 * Finds entries that do not follow from the one before.
 *
 * @param entries of one record, in the order of its changes
 * @param evaluatedAt of a decision; null when unknown
 */
export function moveDifferences(
  name: RecordName,
  entries: readonly AuditEntry[],
  evaluatedAt: Json,
): readonly RecordDifference[] {
  switch (name.kind) {
    case 'decision':
      return [
        ...alongAll(name, numbered(entries, decisionStates(entries, evaluatedAt)), illegalDecisionMove),
        ...unsettled(name, entries),
      ]
    case 'policy':
      return alongAll(name, numbered(entries, entries.map(policyAfter)), illegalPolicyMove)
    case 'webhook':
      return alongAll(name, numbered(entries, entries.map(webhookAfter)), illegalAfterDeletion)
    case 'key':
      return alongAll(name, numbered(entries, entries.map(keyAfter)), illegalKeyMove)
    case 'agent':
      return alongAll(name, agentStates(entries), illegalAgentMove)
    case 'account':
      return []
  }
}

/** A record after a change. */
type Changed = State & { readonly entry: AuditEntry; readonly version: number }

/** Returns what prevents an entry from following a state; null: nothing. */
type IllegalMove = (before: Form, after: Changed) => Member | null

/** Each change of a record increments its version by one, and has an entry. Entries of older releases count, too. */
function numbered(entries: readonly AuditEntry[], forms: readonly Form[]): State[] {
  return forms.map((form, i) => {
    const entry = entries[i] as AuditEntry
    const version = recordVersionOf(entry)
    return { entry, version, form: { ...form, version: version ?? i + 1 } }
  })
}

function alongAll(name: RecordName, states: readonly State[], illegalMove: IllegalMove): RecordDifference[] {
  return states.slice(1).flatMap((after, i) => {
    const before = states[i] as State
    return between(before, after, illegalMove).map(({ path, logged, stored }) => ({
      ...{ ...name, member: path, logged, stored },
      ...{ entry: placeOf(before.entry), later_entry: laterOf(after.entry as AuditEntry) },
    }))
  })
}

function laterOf({ log, index, id, type }: AuditEntry): RecordDifference['later_entry'] {
  return { log, index, id, type }
}

function between(before: State, after: State, illegalMove: IllegalMove): readonly Member[] {
  // An entry of an older release contains nothing to compare.
  if (!isChanged(after)) return []
  const { version: present, ...members } = before.form
  const { version, ...membersAfter } = after.form
  const { differences } = compareForms(members, membersAfter)
  if (isRepeated(before, after)) return differences
  const gap = present === undefined || version === Number(present) + 1 ? null : said('version', before.form, after.form)
  const illegal = illegalMove(before.form, after)
  const may = mayChange(after.entry, before.form)
  return [
    ...(gap === null ? [] : [gap]),
    ...(illegal === null ? [] : [illegal]),
    ...differences.filter(({ path }) => !may.includes(path) && path.split('.')[0] !== illegal?.path),
  ]
}

function isChanged(state: State): state is Changed {
  return state.entry !== undefined && state.version !== null
}

/** A call that does not change an agent still has an entry. */
function isRepeated(before: State, { entry, version }: Changed): boolean {
  return entry.type.startsWith('agent.') && version === before.version
}

/** An open review is closed together with a decision that can no longer run. */
function mayChange(entry: AuditEntry, { status }: Form): readonly string[] {
  const isOpenReview = status === 'awaiting_review' || status === 'approved'
  const { type } = entry
  const endsReview = isOpenReview && (type === 'decision.rejected' || type === 'decision.expired')
  return [...(CHANGED[changeOf(entry)] ?? []), ...(endsReview ? ['review.status'] : [])]
}

/**
 * Two webhook entries cover more than one change: a rotation changes no setting, and a PUT that disables changes all.
 */
function changeOf({ type, data }: AuditEntry): string {
  if (type === 'webhook.updated' && data.secret_rotated === true) return 'webhook.rotated'
  return type === 'webhook.disabled' && data.reason === 'requested' ? 'webhook.updated' : type
}

function said(path: string, before: Form, after: Form): Member {
  return { path, logged: (before[path] ?? null) as Json, stored: (after[path] ?? null) as Json }
}

function illegalDecisionMove(before: Form, { entry, form }: Changed): Member | null {
  const once = ONCE[entry.type]
  if (once !== undefined && before[once] !== null) return said(once, before, form)
  if (entry.type === 'request.erased') return null
  if (NEEDS_REQUEST.has(entry.type) && before.request_erased_at !== null) return said('status', before, form)
  const { status, effect, claimed_at } = before
  // An older release did not record it.
  if (status === undefined) return null
  const wasAuthorized = effect === 'allow' || effect === 'log' || claimed_at !== null
  const isLegal = isLegalMove(entry.type as DecisionMove, status as DecisionStatus, wasAuthorized)
  return isLegal ? null : said('status', before, form)
}

function unsettled(name: RecordName, entries: readonly AuditEntry[]): RecordDifference[] {
  const places = new Map(entries.map(({ id }, i) => [id, i]))
  return settledOtherwise(entries).map(({ path, logged, stored, entryId }) => {
    const at = places.get(entryId) as number
    const later_entry = laterOf(entries[at] as AuditEntry)
    return { ...name, member: path, logged, stored, entry: placeOf(entries[at - 1]), later_entry }
  })
}

function policyAfter({ type, data: { name, policy_set } }: AuditEntry): Form {
  return { name, policy_set, is_deleted: type === 'policy.deleted' }
}

/** Each change of any policy increments one counter. */
function illegalPolicyMove(before: Form, after: Changed): Member | null {
  const isRaised = Number(before.policy_set) < Number(after.form.policy_set)
  return illegalAfterDeletion(before, after) ?? (isRaised ? null : said('policy_set', before, after.form))
}

/** Nothing may follow a deletion, and a record is created once. */
function illegalAfterDeletion(before: Form, { entry: { type }, form }: Changed): Member | null {
  return before.is_deleted === true || type.endsWith('.created') ? said('is_deleted', before, form) : null
}

/** A revoked key never changes. A change adds at most the secret, or the session, that it creates. */
function illegalKeyMove(before: Form, { entry: { type }, form }: Changed): Member | null {
  if (before.revoked_at === undefined) return null
  if (before.revoked_at !== null || type === 'key.created') return said('revoked_at', before, form)
  const known = new Set(before.sessions as readonly Json[])
  const sessions = (form.sessions as readonly Json[]).filter((one) => !known.has(one))
  if (sessions.length > (type === 'key.signed_in' ? 1 : 0)) return said('sessions', before, form)
  const added = (form.secrets as readonly Json[]).length - (before.secrets as readonly Json[]).length
  return added > (type === 'key.rotated' ? 1 : 0) ? said('secrets', before, form) : null
}

/**
 * Returns the state after each entry. Among entries of one version, the one that made the change comes first, although
 * the clocks of two servers may say otherwise; the others changed nothing. So each entry is checked once more, even if
 * several do not follow.
 */
function agentStates(entries: readonly AuditEntry[]): State[] {
  const states: State[] = [{ entry: undefined, version: 0, form: { ...UNWRITTEN_AGENT, last_revision: 0 } }]
  for (const alike of byVersion(entries)) {
    const before = states.at(-1) as State
    const isNext = (entry: AuditEntry) => between(before, agentState(entry, before), illegalAgentMove).length === 0
    const made = alike.find(isNext)
    const ordered = made === undefined ? alike : [made, ...alike.filter((entry) => entry !== made)]
    for (const entry of ordered) states.push(agentState(entry, states.at(-1) as State))
  }
  return states
}

/** @param entries in the order of their versions */
function byVersion(entries: readonly AuditEntry[]): AuditEntry[][] {
  const groups: AuditEntry[][] = []
  let present: number | null | undefined
  for (const entry of entries) {
    const version = recordVersionOf(entry)
    if (version === present) groups.at(-1)?.push(entry)
    else groups.push([entry])
    present = version
  }
  return groups
}

function agentState(entry: AuditEntry, { form: { last_revision } }: State): State {
  const form = { ...agentAfter(entry), last_revision: isRegistration(entry) ? entry.data.revision : last_revision }
  return { entry, version: recordVersionOf(entry), form }
}

function isRegistration({ type }: AuditEntry): boolean {
  return type === 'agent.created' || type === 'agent.updated'
}

/** Only a registered agent is updated or deleted. A registration has the next revision. */
function illegalAgentMove(before: Form, { entry, form }: Changed): Member | null {
  const { revision, last_revision } = before
  const isOfRegistered = entry.type === 'agent.updated' || entry.type === 'agent.deleted'
  const isWrongState = (revision === null && isOfRegistered) || (revision !== null && entry.type === 'agent.created')
  if (revision !== undefined && isWrongState) return said('revision', before, form)
  const isNext = last_revision === undefined || form.last_revision === Number(last_revision) + 1
  return isRegistration(entry) && !isNext ? said('last_revision', before, form) : null
}
