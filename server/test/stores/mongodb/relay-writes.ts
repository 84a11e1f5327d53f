/** The kinds of writes that the store makes, told from the commands that pass a relay. */
import type { Document } from 'mongodb'
import type { Command } from './relay.js'

const WRITES = new Set(['insert', 'update', 'delete', 'findAndModify', 'createIndexes', 'drop', 'dropIndexes'])

export function isWrite({ name }: Command): boolean {
  return WRITES.has(name)
}

/** What statements of a bulk are for, where a collection is written for more than one thing. */
const PURPOSES: Readonly<Record<string, (statement: Document) => string>> = {
  'insert decisions': ({ is_void }) => (is_void ? 'tombstone' : 'new'),
  'update decisions': ({ q, u }) => {
    if (u.$inc !== undefined) return 'fence'
    if (u.$set?.document !== undefined) return u.$set.request_hash === null ? 'move, erased' : 'move'
    if (u.$unset?.erased_hash !== undefined) return 'erasure finished'
    if (u.$set === undefined) return 'settled, by recovery'
    return q.rev === undefined ? 'booked, by recovery' : 'booked'
  },
  'update claims': ({ u }) => (u.$set.fingerprint === null ? 'erased' : 'replaced'),
  'insert audit': ({ type }) => (type === 'void' ? 'void' : 'entry'),
  'insert agents': ({ is_seen, document }) => (is_seen ? 'seen' : document === null ? 'tombstone' : 'new'),
  'update agents': ({ u, multi }) => (multi ? 'seen' : fenceOr('written', u)),
  'update policy_directory': ({ u }) => fenceOr('written', u),
  'update key_directory': ({ u }) => fenceOr('written', u),
  'update webhook_directory': ({ u }) => fenceOr('written', u),
  'update readers': ({ u: { $set } }) => {
    if ($set.document !== undefined) return 'saved'
    return $set.holder === null ? 'released' : 'held'
  },
  'update deliveries': ({ u }) => (u.$unset === undefined ? 'waits again' : 'waits no more'),
  'update logs': ({ u: { $set } }) => {
    if ($set.epoch !== undefined) return 'taken over'
    if ($set.until_ms === 0) return 'given up'
    if ($set.group !== undefined) return $set.group.length > 0 ? 'intents' : 'finished'
    return $set.underway === undefined ? 'renewed' : 'settled'
  },
  'update review_places': ({ u }) => (u.$unset === undefined ? 'taken' : 'released'),
  'update touches': ({ q }) => (q._id === 'touched' ? 'ping' : 'key set read'),
  'delete replicas': ({ limit }) => (limit === 1 ? 'leaves' : 'long gone'),
}

function fenceOr(otherwise: string, { $inc }: Document): string {
  return $inc === undefined ? otherwise : 'fence'
}

const REMEMBERED_VERSIONS = 8

interface SeenAccount {
  readonly spent: string
  readonly reserved: string
  readonly marks: Document
}

/** Names the writes that pass. It remembers accounts: what is done to one shows in its difference to the version before. */
export class WriteNames {
  readonly #accounts = new Map<string, SeenAccount>()

  /** `<command> <collection>` and what it is for: more than one for a bulk, or for an account. */
  of(command: Command): readonly string[] {
    const name = `${command.name} ${command.collection}`
    const { documents, updates, deletes } = command.read()
    const statements: readonly Document[] = documents ?? updates ?? deletes ?? []
    const purpose = PURPOSES[name]
    const purposes =
      command.collection === 'accounts' && statements.length > 0
        ? statements.flatMap((statement) => this.#doneTo(statement))
        : purpose && statements.map(purpose)
    return purposes === undefined ? [name] : [...new Set(purposes)].map((what) => `${name}: ${what}`)
  }

  #doneTo({ q, u }: Document): readonly string[] {
    const { v, ...after }: Document & SeenAccount = u.$set
    const id: string = q._id
    const before = this.#accounts.get(`${id} ${v - 1}`) ?? { spent: '0', reserved: '0', marks: {} }
    this.#accounts.set(`${id} ${v}`, after)
    this.#accounts.delete(`${id} ${v - REMEMBERED_VERSIONS}`)
    const added = Object.entries(after.marks).filter(([mark]) => before.marks[mark] === undefined)
    if (added.length > 0) return added.map(([, { attempt }]) => (attempt === null ? 'settled' : 'reserved'))
    if (Object.keys(after.marks).length === Object.keys(before.marks).length) return ['settled']
    const isSame = after.spent === before.spent && after.reserved === before.reserved
    return [isSame ? 'marks dropped' : 'given back']
  }
}
