/**
 * The documents of the store. JSON that users wrote, and whole documents of ours, are kept as JSON text: no text of a user
 * is ever the name of a field or an operator, and all comes back to the last bit. The fields beside the text are what is
 * searched. Amounts are decimal text, for they may be larger than 64 bits: every write of them is conditional on a version,
 * so that the arithmetic is done here. Times are milliseconds since 1970.
 *
 * Some stored names are older than the words of the code: `home` is the name of a primary, `place` and `places` are a log
 * position and review slots, `announced` are the counts of changes.
 */
import type { AccountKey } from '@countersign/contract'

/** The log position of a record's entry. The entry's id tells apart several tries to write at one index. */
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

/**
 * The primary document of a record: the write of it commits the record. `rev` is raised by each write.
 */
export interface Primary {
  _id: string
  rev: number
  last: LastRecord | null
}

export interface Amounts {
  readonly spent: string
  readonly reserved: string
  /** Raised with each change of what a decision shall count for. */
  readonly n: number
}

/** `due`: what the decision shall count for in the account; `booked`: what the account is known to hold without a mark. */
export interface LedgerLine {
  /** The account's key, as JSON text. */
  readonly key: string
  readonly due: Amounts
  readonly booked: Amounts
}

export interface DecisionDocument extends Primary {
  /** That of the port. */
  readonly version: number
  /** A tombstone: no decision with this id can be written any more. */
  readonly is_void: boolean
  readonly at_ms: number
  readonly status: string
  readonly expires_ms: number
  readonly agent_id: string
  readonly action: string
  readonly resource: string | null
  readonly effect: string
  readonly policy_id: string
  /** Null when the request was erased, and so is `salt` then. */
  readonly request_hash: string | null
  readonly key_id: string
  readonly document: string
  readonly context: string | null
  readonly salt: string | null
  /** The hash of a request that was erased, until no claim has it as its fingerprint any more. */
  readonly erased_hash?: string
  /** The reservation that was committed with it. */
  readonly attempt: string | null
  /** By account id. */
  readonly ledger: Readonly<Record<string, LedgerLine>>
  /** Since when some `due` is not `booked`; absent when all is. */
  readonly unsettled?: number
}

/** What counts in an account for a moment: of a reservation (by its attempt), or of a settlement (by the decision's id). */
export interface Mark extends Amounts {
  readonly decision: string
  /** Null: of a settlement, which counts instead of what is booked. */
  readonly attempt: string | null
  /** The decision's `rev` that the attempt was made upon; null when it did not exist. */
  readonly rev: number | null
  readonly at_ms: number
  /** Of an attempt whose call has a name: a hash of that. */
  readonly call?: string
}

export interface AccountDocument {
  _id: string
  /** Raised by each write. */
  readonly v: number
  readonly spent: string
  readonly reserved: string
  readonly is_reserved: boolean
  /** Of the oldest mark, null without marks. */
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
  /** That of the port. */
  readonly version: number
  readonly at_ms: number
  readonly known_at: string
  readonly is_held: boolean
  /** Whether it has asked. */
  readonly is_seen: boolean
  /** Held or seen. */
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

/** All live policies by name and version, so that one condition on one document keeps names unique and sets in order. */
export interface PolicyDirectory extends Primary {
  /** The present set. */
  readonly policy_set: number
  readonly live: Readonly<Record<string, { readonly version: number; readonly name: string }>>
  /** What the last record wrote, as JSON text, until it is among the revisions. */
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
  /** When it was revoked, else when it expires; null for neither. */
  readonly over_at: string | null
  readonly document: string
}

/**
 * All keys that live, with the hashes of their secrets, so that one condition on one document keeps secrets unique. Those
 * that are over leave it with the next write of a key.
 */
export interface KeyDirectory extends Primary {
  readonly keys: Readonly<Record<string, KeyEntry>>
}

export interface WebhookEntry {
  readonly version: number
  readonly document: string
}

/** All webhooks: they are few, and the feed reads them together. */
export interface WebhookDirectory extends Primary {
  readonly webhooks: Readonly<Record<string, WebhookEntry>>
}

/** A key that is over, as it was when it left the directory. While it is in both, what the directory says counts. */
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
  /** One try to take the name: also the same record's next try is another. */
  readonly claim: string
  readonly key_id: string
  readonly operation: string
  readonly key: string
  readonly fingerprint: string | null
  readonly status: number
  readonly subject: string
  readonly created_ms: number
  readonly expires_ms: number
  /** Of the record that it belongs to, null for one that is nothing but the claim. */
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

/** A record that a process is about to write: its log takes the intents of a group before any of it is written. */
export interface Intent extends EntryPosition {
  readonly at: string
  readonly home: PrimaryName
  readonly claim: string | null
}

/** The log of one process. What is below `group` is whole; whoever raises `epoch` is its only writer from then on. */
export interface LogDocument {
  _id: string
  readonly epoch: number
  /** Raised by each write, signs of life apart. */
  readonly rev: number
  /** The process that writes it; null when it was given up. */
  readonly holder: string | null
  readonly until_ms: number
  readonly start: number
  readonly group: readonly Intent[]
  /** How often changes of what every process keeps in memory were begun or settled: raised with the intents, and after. */
  readonly announced: Readonly<Record<FollowedKind, number>>
  /** Of which kinds some may still be on their way. */
  readonly underway: readonly FollowedKind[]
}

/** What every process keeps in memory. */
export type FollowedKind = Extract<PrimaryName['kind'], 'policies' | 'agent' | 'keys'>

/** A process that shares the store, as it said last. */
export interface ReplicaDocument {
  _id: string
  readonly issuer: string
  readonly seen_ms: number
}

/** The review slots of one agent or one API key, by the ids of their decisions, which are ours. Stored as `places`. */
export interface ReviewSlotsDocument {
  _id: string
  readonly count: number
  /** When the last of them ends. */
  readonly until_ms: number
  readonly places: Readonly<Record<string, { readonly until_ms: number; readonly taken_ms: number }>>
}

/** The field of one review slot. */
export function reviewSlotField(id: string): `places.${string}` {
  return `places.${id}`
}

/** The public half of a key that signs permits. `rev` is raised by each write. */
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

/** How the data are laid out. */
export interface SchemaDocument {
  _id: string
  readonly version: number
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

/** A reader of the logs. */
export interface ReaderDocument {
  _id: string
  readonly holder: string | null
  readonly until_ms: number
  /** Raised whenever it is taken, and above those of a reader of the same name that was forgotten. */
  readonly fence: number
  /** How often it was saved. */
  readonly saves: number
  /** The last call that saved it. */
  readonly saved_by: string | null
  /** Its positions and its state, as JSON text; null before it is saved. */
  readonly document: string | null
  /** The counts of the last save, as JSON text: they became durable with the positions, and follow to where they belong. */
  readonly counts: string | null
  /** The order of the save that they are of. */
  readonly counts_order: string
  /** Nodes and checkpoints of the last save, in the same way. Absent in what older releases wrote. */
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
  /** That of the port. */
  readonly version: number
  readonly webhook_id: string
  readonly at_ms: number
  readonly status: string
  /** Only while it waits for its next attempt. */
  readonly due?: { readonly webhook_id: string; readonly next_ms: number; readonly event_ms: number }
  /** The last call that wrote it back. */
  readonly written_by: string | null
  readonly document: string
}

export interface CountDocument {
  _id: string
  readonly series: string
  readonly starts_ms: number
  /** Of the save that it is of. */
  readonly order: string
  readonly document: string
}
