/**
 * The waiting reviews of agents and API keys. Each owner has one document, so that its limit is a condition of one
 * update. A waiting review takes 100 bytes.
 */
import type { ReviewSlot, ReviewSlots, WantedSlot } from '../../../ports/store/replicas.js'
import { type Database, duplicatesOf } from '../connection/database.js'
import { type ReviewSlotsDocument, reviewSlotField } from '../stored.js'

/** Longer than a record may be in progress, even if its process dies: see LEAVES_WITHIN_MS in write-decisions.ts. */
const ON_ITS_WAY_MS = 120_000

const WAITS = 'awaiting_review'

export class MongoReviewSlots implements ReviewSlots {
  constructor(private readonly database: Database) {}

  async take(wanted: readonly WantedSlot[]): Promise<readonly boolean[]> {
    const answers = wanted.map(({ limit }): boolean | null => (limit > 0 ? null : false))
    const open = () => [...wanted.entries()].filter(([i]) => answers[i] === null)
    for (let left = open(); left.length > 0; left = open()) {
      const untaken = await this.#takeThose(left.map(([, slot]) => slot))
      const found = await this.#read(left.filter((_, j) => untaken.has(j)).map(([, slot]) => slot))
      for (const [j, [i, { owner, id, limit }]] of left.entries()) {
        const present = found.get(owner)
        // The same call may have taken it: its answer was lost.
        if (!untaken.has(j) || present?.places[id] !== undefined) answers[i] = true
        // Otherwise another process created the document at the same moment, or slots were released since: try again.
        else if (present !== undefined && present.count >= limit) answers[i] = false
      }
    }
    return answers as readonly boolean[]
  }

  /** Returns the slots that were not taken: their document exists, and the filter does not match it. */
  #takeThose(wanted: readonly WantedSlot[]): Promise<ReadonlySet<number>> {
    const updates = wanted.map(({ owner, id, limit, at, expires_at }) => {
      const slot = { until_ms: Date.parse(expires_at), taken_ms: Date.parse(at) }
      return {
        updateOne: {
          filter: { _id: { $eq: owner }, count: { $lt: limit }, [reviewSlotField(id)]: { $exists: false } },
          update: { $set: { [reviewSlotField(id)]: slot }, $inc: { count: 1 }, $max: { until_ms: slot.until_ms } },
          upsert: true,
        },
      }
    })
    return this.database.call(async () => {
      try {
        await this.database.reviewSlots.bulkWrite(updates, { ordered: false })
        return new Set<number>()
      } catch (error) {
        return duplicatesOf(error)
      }
    })
  }

  async #read(slots: readonly ReviewSlot[]): Promise<ReadonlyMap<string, ReviewSlotsDocument>> {
    if (slots.length === 0) return new Map()
    const projection = Object.fromEntries(slots.map(({ id }) => [reviewSlotField(id), 1]))
    const found = await this.database.call(() =>
      this.database.reviewSlots
        .find({ _id: { $in: slots.map(({ owner }) => owner) } })
        .project<ReviewSlotsDocument>({ count: 1, ...projection })
        .toArray(),
    )
    return new Map(found.map((one) => [one._id, one]))
  }

  async release(slots: readonly ReviewSlot[]): Promise<void> {
    if (slots.length === 0) return
    const updates = slots.map(({ owner, id }) => ({
      updateOne: {
        filter: { _id: { $eq: owner }, [reviewSlotField(id)]: { $exists: true } },
        update: { $unset: { [reviewSlotField(id)]: true as const }, $inc: { count: -1 } },
      },
    }))
    await this.database.call(() => this.database.reviewSlots.bulkWrite(updates, { ordered: false }))
  }

  async clear(owner: string, now: string): Promise<void> {
    const { reviewSlots, decisions } = this.database
    const found = await this.database.call(() => reviewSlots.findOne({ _id: { $eq: owner } }))
    if (found === null) return
    const nowMs = Date.parse(now)
    const ids = Object.keys(found.places)
    // Read after the slots: a decision that is missing now was missing when its slot was read.
    const recorded = await this.database.findByIds(decisions, ids, ['status'])
    const isOver = (id: string): boolean => {
      const { until_ms, taken_ms } = found.places[id] as { until_ms: number; taken_ms: number }
      const status = recorded.get(id)?.status
      return until_ms <= nowMs || (status === undefined ? taken_ms <= nowMs - ON_ITS_WAY_MS : status !== WAITS)
    }
    await this.release(ids.filter(isOver).map((id) => ({ owner, id })))
  }

  async forgetOver(now: string): Promise<void> {
    const { reviewSlots } = this.database
    await this.database.call(() => reviewSlots.deleteMany({ until_ms: { $lte: Date.parse(now) } }))
  }
}
