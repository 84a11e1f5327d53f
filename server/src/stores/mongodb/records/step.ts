import type { AuditEntry } from '@countersign/contract'
import { type Moment, thisMoment } from '../../../concurrency/moment.js'
import type { Change, Mutation } from '../../../ports/store/store.js'
import type { MongoLedger } from '../budgets/ledger.js'
import { KEYS } from '../collections/keys.js'
import { POLICIES } from '../collections/policies.js'
import { WEBHOOKS } from '../collections/webhooks.js'
import type { Claim, EntryPosition, LastRecord, PrimaryName } from '../stored.js'
import { claimOf } from './claims.js'

export type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>

/** A record in progress. */
export interface Step {
  readonly record: Mutation
  readonly primary: PrimaryName
  /** From then on other processes may see that it is in progress, and give it up after a while. */
  readonly begun: Moment
  /** Null for a call that changed nothing, which consists only of its claim. */
  readonly position: EntryPosition | null
  readonly claim: Claim | null
}

export function stepOf(ledger: MongoLedger, record: Mutation): Step {
  const { change, entry, idempotency } = record
  const primary = primaryNameOf(change, entry)
  const position = entry === null ? null : { log: entry.log, index: entry.index, entry_id: entry.id }
  const claim = idempotency === null ? null : claimOf(idempotency, position, position && primary)
  const reservation = 'reservation' in change ? ledger.find(change.reservation) : null
  return { record, primary, begun: reservation?.begun ?? thisMoment(), position, claim }
}

function primaryNameOf(change: Change, entry: AuditEntry | null): PrimaryName {
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
    case 'webhook.write':
      return { kind: 'webhooks', id: WEBHOOKS }
    case 'entry.only':
    case 'call.only':
      return { kind: 'none', id: entry?.id ?? '' }
  }
}

/** The record in the form that its primary keeps until the next write. */
export function lastOf({ position, record }: Step): LastRecord {
  return { ...(position as NonNullable<Step['position']>), entry: JSON.stringify(record.entry) }
}
