import type { PublishedSigningKey, Replicas, Revision, SharedSigningKey } from '../../ports/store/replicas.js'
import { MongoReviewSlots } from './collections/review-slots.js'
import type { Database } from './connection/database.js'
import { assertOwnSchema } from './schema.js'
import { listenForSignals, sendSignal } from './signals.js'
import type { FollowedKind, SigningKeyDocument } from './stored.js'

/** A process that was not seen for this long has ended. */
const SEEN_OF_LATE_MS = 15_000
const FORGOTTEN_AFTER_MS = 86_400_000
/** Touched when a verifier reads the key set. */
const KEY_SET = 'key_set'

export function markKeySetRead(database: Database): Promise<void> {
  return database.touch(KEY_SET)
}

export async function loadSigningKeys(database: Database, now: string): Promise<readonly PublishedSigningKey[]> {
  const nowMs = Date.parse(now)
  const found = await database.call(() =>
    database.signingKeys.find({ $or: [{ until_ms: { $gt: nowMs } }, { revoked_ms: { $ne: null } }] }).toArray(),
  )
  return found.map(({ _id, x, until_ms, revoked_ms, is_known = false }) => ({
    kid: _id,
    x,
    published_until: new Date(until_ms).toISOString(),
    revoked_at: revoked_ms === null ? null : new Date(revoked_ms).toISOString(),
    is_known,
  }))
}

/**
 * Derives the revision from the logs. Each log names the kinds that its group will change before the group is written,
 * and again after it. So no change is committed before its kind was named, and an unfinished change counts as in
 * progress until another process has completed the group.
 */
export class MongoReplicas implements Replicas {
  readonly reviewSlots: MongoReviewSlots
  #issuer: string | null = null

  constructor(
    private readonly database: Database,
    private readonly process: string,
    private readonly nowMs: () => number,
  ) {
    this.reviewSlots = new MongoReviewSlots(database)
  }

  async join(issuer: string): Promise<readonly string[]> {
    this.#issuer = issuer
    await this.#sayThatItLives()
    const { replicas } = this.database
    const nowMs = this.nowMs()
    await this.database.call(() => replicas.deleteMany({ seen_ms: { $lt: nowMs - FORGOTTEN_AFTER_MS } }))
    const others = await this.database.call(() =>
      replicas.find({ _id: { $ne: this.process }, seen_ms: { $gte: nowMs - SEEN_OF_LATE_MS } }).toArray(),
    )
    return others.map((other) => other.issuer)
  }

  async revision(): Promise<Revision> {
    // A majority accepts this write, so the primary that answers the reads after it was still the primary when it was
    // sent.
    await this.#sayThatItLives()
    const { logs, signingKeys } = this.database
    const [found, published] = await Promise.all([
      this.database.call(() => logs.find().project<LogChanges>({ announced: 1, underway: 1 }).toArray()),
      this.database.call(() => signingKeys.find().project<{ _id: string; rev: number }>({ rev: 1 }).toArray()),
      assertOwnSchema(this.database),
    ])
    const textOf = (kind: FollowedKind): string | null =>
      found.some(({ underway }) => underway.includes(kind))
        ? null
        : joined(found.map(({ _id, announced }) => [_id, announced[kind]]))
    return {
      policies: textOf('policies'),
      agents: textOf('agent'),
      keys: textOf('keys'),
      signing_keys: joined(published.map(({ _id, rev }) => [_id, rev])),
    }
  }

  listen(onChange: () => void): () => Promise<void> {
    return listenForSignals(this.database, onChange)
  }

  async publishSigningKeys(keys: readonly SharedSigningKey[], now: string): Promise<void> {
    const { signingKeys } = this.database
    const kids = keys.map(({ kid }) => kid)
    await this.database.call(() =>
      signingKeys.updateMany(
        { _id: { $in: kids }, until_ms: { $lte: Date.parse(now) }, is_known: true },
        { $unset: { is_known: 1 } },
      ),
    )
    await this.database.insertNew(signingKeys, keys.map(documentOf))
    const updates = keys.map((key) => {
      const { until_ms, revoked_ms } = documentOf(key)
      const isChanged = { $or: [{ until_ms: { $ne: until_ms } }, { revoked_ms: { $ne: revoked_ms } }] }
      return {
        updateOne: {
          filter: { _id: key.kid, revoked_ms: null, ...isChanged },
          update: { $set: { until_ms, revoked_ms }, $inc: { rev: 1 } },
        },
      }
    })
    if (updates.length > 0) await this.database.call(() => signingKeys.bulkWrite(updates, { ordered: false }))
    sendSignal(this.database)
  }

  async markKeysKnown(kids: readonly string[]): Promise<void> {
    const { signingKeys } = this.database
    await this.database.call(() => signingKeys.updateMany({ _id: { $in: [...kids] } }, { $set: { is_known: true } }))
  }

  loadSigningKeys(now: string): Promise<readonly PublishedSigningKey[]> {
    return loadSigningKeys(this.database, now)
  }

  markKeySetRead(): Promise<void> {
    return markKeySetRead(this.database)
  }

  async wasKeySetRead(): Promise<boolean> {
    const found = await this.database.call(() => this.database.touches.findOne({ _id: { $eq: KEY_SET } }))
    return found !== null
  }

  /** Other processes no longer need to consider this one. */
  async leave(): Promise<void> {
    await this.database.call(() => this.database.replicas.deleteOne({ _id: this.process }))
  }

  async #sayThatItLives(): Promise<void> {
    const said = { issuer: this.#issuer ?? '', seen_ms: this.nowMs() }
    await this.database.call(() =>
      this.database.replicas.updateOne({ _id: this.process }, { $set: said }, { upsert: true }),
    )
  }
}

interface LogChanges {
  readonly _id: string
  readonly announced: Readonly<Record<FollowedKind, number>>
  readonly underway: readonly FollowedKind[]
}

function joined(numbers: readonly (readonly [string, number])[]): string {
  return numbers
    .filter(([, number]) => number > 0)
    .map(([name, number]) => `${name}:${number}`)
    .sort()
    .join(' ')
}

function documentOf({ kid, x, published_until, revoked_at }: SharedSigningKey): SigningKeyDocument {
  const revoked_ms = revoked_at === null ? null : Date.parse(revoked_at)
  return { _id: kid, rev: 1, x, until_ms: Date.parse(published_until), revoked_ms }
}
