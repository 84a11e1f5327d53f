/**
 * The documents of the store. JSON that users wrote, and whole documents of ours, are stored as JSON text: no text of a
 * user is ever the name of a field or an operator, and every value is read back exactly. The fields next to the text
 * are for searches. Amounts are decimal text, because they may exceed 64 bits: every write of them is conditional on a
 * version, so that the arithmetic is done here. Times are milliseconds since 1970.
 *
 * Some stored names are older than the terms of the code: `home` is the name of a primary, `place` and `places` are a
 * log position and review slots, `announced` are the counts of changes.
 */
import type { AccountKey } from '@countersign/contract'
import type { MoveProgress } from '../../ports/store/move.js'

/** The log position of a record's entry. The entry's id distinguishes several attempts to write at one index. */
export interface EntryPosition {
  readonly log: string
  readonly index: number
  readonly entry_id: string
}

/** The audit entry of the last record that wrote a document, until it is in the log: it became durable with the document. */
export interface LastRecord extends EntryPosition {
  /** The entry, as JSON text. */
  readonly entry: string
}

/** The primary document of a record: writing it commits the record. Each write increments `rev`. */
export interface Primary {
  _id: string
  rev: number
  last: LastRecord | null
}

export interface Amounts {
  readonly spent: string
  readonly reserved: string
  /** Incremented with each change of the amounts that a decision owes. */
  readonly n: number
}

/**
 * `due`: the amount that the decision owes in the account; `booked`: the amount that the account is known to include
 * without a mark.
 */
export interface LedgerLine {
  /** The account's key, as JSON text. */
  readonly key: string
  readonly due: Amounts
  readonly booked: Amounts
}

export interface DecisionDocument extends Primary {
  /** The version of the document in the port. */
  readonly version: number
  /** A tombstone: a decision with this id can no longer be written. */
  readonly is_void: boolean
  readonly at_ms: number
  readonly status: string
  readonly expires_ms: number
  readonly agent_id: string
  readonly action: string
  readonly resource: string | null
  readonly effect: string
  readonly policy_id: string
  /** Null when the request was erased; then `salt` is null, too. */
  readonly request_hash: string | null
  readonly key_id: string
  /** Absent for a request without a trace, which then costs the index nothing. */
  readonly trace_id?: string
  readonly document: string
  readonly context: string | null
  readonly salt: string | null
  /** The hash of an erased request, until no claim has it as its fingerprint. */
  readonly erased_hash?: string
  /** The reservation that was committed with it. */
  readonly attempt: string | null
  /** By account id. */
  readonly ledger: Readonly<Record<string, LedgerLine>>
  /** Since when some `due` is not `booked`; absent when all of it is. */
  readonly unsettled?: number
}

/**
 * A temporary amount in an account: of a reservation (named by its attempt), or of a settlement (named by the
 * decision's id).
 */
export interface Mark extends Amounts {
  readonly decision: string
  /** Null for a settlement, which replaces the booked amount. */
  readonly attempt: string | null
  /** The decision's `rev` that the attempt is based on; null when there was no decision. */
  readonly rev: number | null
  readonly at_ms: number
  /** A hash of the call's name, for an attempt whose call has one. */
  readonly call?: string
}

export interface AccountDocument {
  _id: string
  /** Incremented by each write. */
  readonly v: number
  readonly spent: string
  readonly reserved: string
  readonly is_reserved: boolean
  /** The time of the oldest mark; null without marks. */
  readonly marked_ms: number | null
  /** Whether a decision is known to have counted here. */
  readonly is_used: boolean
  /** The order in which accounts were opened. */
  readonly opened: string
  readonly policy_id: string
  readonly unit: string
  readonly period: AccountKey['period']
  readonly starts_at: string | null
  readonly agent_id: string | null
  readonly marks: Readonly<Record<string, Mark>>
}

export interface AgentDocument extends Primary {
  /** The version of the document in the port. */
  readonly version: number
  readonly at_ms: number
  readonly known_at: string
  /** Registered or suspended. Only servers of earlier releases on the same database read it: they load no other agents. */
  readonly is_held: boolean
  /** Whether it has asked for a decision. */
  readonly is_seen: boolean
  /** Registered, suspended or seen: whether lists show it. */
  readonly is_listed: boolean
  /** Null until it is written. */
  readonly document: string | null
}

export interface StoredLastSeen {
  _id: string
  readonly first_seen: string
  readonly last_seen: string
}

export interface AgentRevision {
  _id: string
  readonly document: string
}

/**
 * All present policies by name and version, so that one condition on one document keeps names unique and sets in order.
 */
export interface PolicyDirectory extends Primary {
  /** The present set. */
  readonly policy_set: number
  readonly live: Readonly<Record<string, { readonly version: number; readonly name: string }>>
  /** The policy of the last record, as JSON text, until it is among the revisions. */
  readonly written: string | null
}

export interface PolicyRevision {
  _id: string
  readonly policy_id: string
  readonly version: number
  readonly from_set: number
  readonly until_set: number
  readonly deleted_at: string | null
  readonly document: string
}

export interface KeyEntry {
  readonly version: number
  readonly hashes: readonly string[]
  /** When it was revoked, otherwise when it expires; null for neither. */
  readonly over_at: string | null
  readonly document: string
}

/**
 * All valid keys with the hashes of their secrets, so that one condition on one document keeps secrets unique. Revoked
 * and expired keys leave it with the next write of a key.
 */
export interface KeyDirectory extends Primary {
  readonly keys: Readonly<Record<string, KeyEntry>>
}

export interface WebhookEntry {
  readonly version: number
  readonly document: string
}

/** All webhooks: there are few, and the feed reads them together. */
export interface WebhookDirectory extends Primary {
  readonly webhooks: Readonly<Record<string, WebhookEntry>>
}

/** A revoked or expired key as it was when it left the directory. While it is in both, the directory counts. */
export interface RetiredKey extends KeyEntry {
  _id: string
}

export interface KeyUse {
  _id: string
  readonly used_at: string
}

/** The name of a call, taken by a record that is committed or may still be. */
export interface Claim {
  _id: string
  /** One attempt to take the name; a further attempt of the same record has another value. */
  readonly claim: string
  readonly key_id: string
  readonly operation: string
  readonly key: string
  readonly fingerprint: string | null
  readonly status: number
  readonly subject: string
  readonly created_ms: number
  readonly expires_ms: number
  /** The position of its record; null for a record that consists only of the claim. */
  readonly place: EntryPosition | null
  readonly home: PrimaryName | null
}

export interface PrimaryName {
  readonly kind: 'decision' | 'agent' | 'policies' | 'keys' | 'webhooks' | 'none'
  readonly id: string
}

export interface AuditDocument {
  _id: string
  readonly id: string
  readonly at_ms: number
  readonly type: string
  readonly agent_id: string | null
  readonly subject: string
  readonly log: string
  readonly index: number
  readonly document: string
}

/**
 * A record that a process is about to write: its log stores the intents of a group before any part of it is written.
 */
export interface Intent extends EntryPosition {
  readonly at: string
  readonly home: PrimaryName
  readonly claim: string | null
}

/**
 * The log of one process. Everything below `group` is complete; the process that increments `epoch` is its only writer
 * from then on.
 */
export interface LogDocument {
  _id: string
  readonly epoch: number
  /** Incremented by each write, except for signs of life. */
  readonly rev: number
  /** The process that writes it; null when it was given up. */
  readonly holder: string | null
  readonly until_ms: number
  readonly start: number
  readonly group: readonly Intent[]
  /** How often changes of in-memory data were begun or settled: incremented with the intents, and afterwards. */
  readonly announced: Readonly<Record<FollowedKind, number>>
  /** The kinds of which a change may still be in progress. */
  readonly underway: readonly FollowedKind[]
}

/** The kinds of data that every process keeps in memory. */
export type FollowedKind = Extract<PrimaryName['kind'], 'policies' | 'agent' | 'keys'>

/** A process that shares the store, as it last announced itself. */
export interface ReplicaDocument {
  _id: string
  readonly issuer: string
  readonly seen_ms: number
}

/**
 * The review slots of one agent or one API key, by the ids of their decisions, which the server creates. Stored as
 * `places`.
 */
export interface ReviewSlotsDocument {
  _id: string
  readonly count: number
  /** When the last of them ends. */
  readonly until_ms: number
  readonly places: Readonly<Record<string, { readonly until_ms: number; readonly taken_ms: number }>>
}

export function reviewSlotField(id: string): `places.${string}` {
  return `places.${id}`
}

/** The public half of a key that signs permits. Each write increments `rev`. */
export interface SigningKeyDocument {
  _id: string
  rev: number
  /** Base64url, of Ed25519. */
  readonly x: string
  readonly until_ms: number
  readonly revoked_ms: number | null
  /** Absent for a key that some verifier may lack. */
  readonly is_known?: true
}

/** The layout of the data. */
export interface SchemaDocument {
  _id: string
  readonly version: number
  /** Servers of older releases may still have something under way. */
  readonly is_raised?: true
  /** Absent where the data did not move here. */
  readonly move?: MoveDocument
}

/** The move that brought the data. */
export interface MoveDocument {
  readonly id: string
  readonly kind: 'underway' | 'completed' | 'undone'
  readonly progress: MoveProgress | null
}

export interface NamedValue {
  _id: string
  readonly value: string
}

export interface LeaseDocument {
  _id: string
  readonly holder: string
  readonly until_ms: number
}

export interface ReaderDocument {
  _id: string
  readonly holder: string | null
  readonly until_ms: number
  /** Incremented whenever it is taken, and higher than those of a removed reader of the same name. */
  readonly fence: number
  readonly saves: number
  /** The last call that saved it. */
  readonly saved_by: string | null
  /** Its positions and its state, as JSON text; null before it is saved. */
  readonly document: string | null
  /**
   * The counts of the last save, as JSON text: they became durable with the positions, and are copied to their
   * collection.
   */
  readonly counts: string | null
  /** The order of the save that they belong to. */
  readonly counts_order: string
  /** Nodes and checkpoints of the last save, in the same way. Absent in data of older releases. */
  readonly trees?: string | null
}

/** A node of a Merkle tree; the id is `<tree>/<level>/<index>`. */
export interface TreeNodeDocument {
  _id: string
  readonly hash: string
}

/** The id is the index, with leading zeros. */
export interface CheckpointDocument {
  _id: string
  readonly document: string
}

export interface DeliveryDocument {
  _id: string
  /** The version of the document in the port. */
  readonly version: number
  readonly webhook_id: string
  readonly subject: string
  readonly at_ms: number
  readonly status: string
  /** Present only while it waits for its next attempt. */
  readonly due?: { readonly webhook_id: string; readonly next_ms: number; readonly event_ms: number }
  /** The last call that wrote it back. */
  readonly written_by: string | null
  readonly document: string
}

export interface CountDocument {
  _id: string
  readonly series: string
  readonly starts_ms: number
  /** The order of its save. */
  readonly order: string
  readonly document: string
}
