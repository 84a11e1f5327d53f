import { type Moment, thisMoment } from '@countersign/concurrency'
import type { AuditEntry } from '@countersign/contract'
import type { Change, Mutation } from '@countersign/store-port/store'
import type { MongoLedger } from '../budgets/ledger.js'
import { KEYS } from '../collections/keys.js'
import { POLICIES } from '../collections/policies.js'
import type { Claim, HomeName, LastRecord, Place } from '../stored.js'
import { claimOf } from './claims.js'

export type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>

/** A record on its way. */
export interface Step {
  readonly record: Mutation
  readonly home: HomeName
  /** From when on others may have seen that it is on its way, and give it up after a while. */
  readonly begun: Moment
  /** Null for a call that changed nothing: its claim is all of it. */
  readonly place: Place | null
  readonly claim: Claim | null
}

export function stepOf(ledger: MongoLedger, record: Mutation): Step {
  const { change, entry, idempotency } = record
  const home = homeNameOf(change, entry)
  const place = entry === null ? null : { log: entry.log, index: entry.index, entry_id: entry.id }
  const claim = idempotency === null ? null : claimOf(idempotency, place, place && home)
  const reservation = 'reservation' in change ? ledger.find(change.reservation) : null
  return { record, home, begun: reservation?.begun ?? thisMoment(), place, claim }
}

function homeNameOf(change: Change, entry: AuditEntry | null): HomeName {
  switch (change.kind) {
    case 'decision.create':
    case 'decision.update':
      return { kind: 'decision', id: change.decision.id }
    case 'policy.write':
      return { kind: 'policies', id: POLICIES }
    case 'agent.write':
      return { kind: 'agent', id: change.agent.id }
    case 'key.write':
      return { kind: 'keys', id: KEYS }
    case 'entry.only':
    case 'call.only':
      return { kind: 'none', id: entry?.id ?? '' }
  }
}

/** As its home tells of it until the next write. */
export function lastOf({ place, record }: Step): LastRecord {
  return { ...(place as NonNullable<Step['place']>), entry: JSON.stringify(record.entry) }
}
