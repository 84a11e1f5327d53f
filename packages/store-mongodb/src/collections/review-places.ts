/**
 * Which reviews of an agent or an API key wait: one document for each, so that its limit is a condition of one update. That
 * is 100 bytes for each review that waits.
 */
import type { ReviewPlace, ReviewPlaces, WantedPlace } from '@countersign/store-port/replicas'
import { type Database, duplicatesOf } from '../connection/database.js'
import type { ReviewPlacesDocument } from '../stored.js'

/** Longer than a record may be on its way, whatever becomes of its process: see LEAVES_WITHIN_MS in write-decisions.ts. */
const ON_ITS_WAY_MS = 120_000

export class MongoReviewPlaces implements ReviewPlaces {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async take(wanted: readonly WantedPlace[]): Promise<readonly boolean[]> {
    const answers = wanted.map(({ limit }): boolean | null => (limit > 0 ? null : false))
    const open = () => [...wanted.entries()].filter(([i]) => answers[i] === null)
    for (let left = open(); left.length > 0; left = open()) {
      const refused = await this.#takeThose(left.map(([, place]) => place))
      const found = await this.#read(left.filter((_, j) => refused.has(j)).map(([, place]) => place))
      for (const [j, [i, { owner, id, limit }]] of left.entries()) {
        const present = found.get(owner)
        // By the same call, where its answer was lost.
        if (!refused.has(j) || present?.places[id] !== undefined) answers[i] = true
        // Else another one made the document in that moment, or places were released since.
        else if (present !== undefined && present.count >= limit) answers[i] = false
      }
    }
    return answers as readonly boolean[]
  }

  /** Which of them their documents do not take: they are there and not as the filter wants them. */
  #takeThose(wanted: readonly WantedPlace[]): Promise<ReadonlySet<number>> {
    const updates = wanted.map(({ owner, id, limit, at, expires_at }) => {
      const place = { until_ms: Date.parse(expires_at), taken_ms: Date.parse(at) }
      return {
        updateOne: {
          filter: { _id: { $eq: owner }, count: { $lt: limit }, [`places.${id}`]: { $exists: false } },
          update: { $set: { [`places.${id}`]: place }, $inc: { count: 1 }, $max: { until_ms: place.until_ms } },
          upsert: true,
        },
      }
    })
    return this.#database.call(async () => {
      try {
        await this.#database.reviewPlaces.bulkWrite(updates, { ordered: false })
        return new Set<number>()
      } catch (error) {
        return duplicatesOf(error)
      }
    })
  }

  async #read(places: readonly ReviewPlace[]): Promise<ReadonlyMap<string, ReviewPlacesDocument>> {
    if (places.length === 0) return new Map()
    const projection = Object.fromEntries(places.map(({ id }) => [`places.${id}`, 1]))
    const found = await this.#database.call(() =>
      this.#database.reviewPlaces
        .find({ _id: { $in: places.map(({ owner }) => owner) } })
        .project<ReviewPlacesDocument>({ count: 1, ...projection })
        .toArray(),
    )
    return new Map(found.map((one) => [one._id, one]))
  }

  async release(places: readonly ReviewPlace[]): Promise<void> {
    if (places.length === 0) return
    const updates = places.map(({ owner, id }) => ({
      updateOne: {
        filter: { _id: { $eq: owner }, [`places.${id}`]: { $exists: true } },
        update: { $unset: { [`places.${id}`]: true as const }, $inc: { count: -1 } },
      },
    }))
    await this.#database.call(() => this.#database.reviewPlaces.bulkWrite(updates, { ordered: false }))
  }

  async clear(owner: string, now: string): Promise<void> {
    const { reviewPlaces, decisions } = this.#database
    const found = await this.#database.call(() => reviewPlaces.findOne({ _id: { $eq: owner } }))
    if (found === null) return
    const nowMs = Date.parse(now)
    const ids = Object.keys(found.places)
    // Read after the places: a decision that is not there yet was not there when its place was.
    const recorded = await this.#database.call(() =>
      decisions
        .find({ _id: { $in: ids } })
        .project<{ _id: string; status: string }>({ status: 1 })
        .toArray(),
    )
    const statuses = new Map(recorded.map(({ _id, status }) => [_id, status]))
    const isOver = (id: string): boolean => {
      const { until_ms, taken_ms } = found.places[id] as { until_ms: number; taken_ms: number }
      const status = statuses.get(id)
      return until_ms <= nowMs || (status === undefined ? taken_ms <= nowMs - ON_ITS_WAY_MS : status !== WAITS)
    }
    await this.release(ids.filter(isOver).map((id) => ({ owner, id })))
  }

  async forgetOver(now: string): Promise<void> {
    const { reviewPlaces } = this.#database
    await this.#database.call(() => reviewPlaces.deleteMany({ until_ms: { $lte: Date.parse(now) } }))
  }
}

const WAITS = 'awaiting_review'
