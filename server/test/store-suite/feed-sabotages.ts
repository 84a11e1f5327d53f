/** Stores that break one promise each of what the feed reads and writes. */

import type { LogEnd } from '#server/ports/store/audit'
import type { StoredDelivery, StoredWebhook } from '#server/ports/store/documents'
import type { FeedStore, HeldReader } from '#server/ports/store/feed'
import type { Mutation, Store } from '#server/ports/store/store'
import { idOf, instant } from './documents.js'
import { earlier, type Sabotage } from './sabotage.js'
import { WHOLE } from './store-case.js'

/** Later than any attempt. */
const FAR = instant(1e6)

/** The mutations with other changes of webhooks. */
function changedWebhooks(
  mutations: readonly Mutation[],
  changed: (webhook: StoredWebhook, expected_version: number) => Mutation['change'],
): readonly Mutation[] {
  return mutations.map((mutation) =>
    mutation.change.kind === 'webhook.write'
      ? { ...mutation, change: changed(mutation.change.webhook, mutation.change.expected_version) }
      : mutation,
  )
}

async function atPresentVersion(sound: Store, delivery: StoredDelivery): Promise<StoredDelivery> {
  const found = await sound.deliveries.get(delivery.id)
  return found === null ? delivery : { ...delivery, version: found.version + 1 }
}

export const FEED_SABOTAGES: readonly Sabotage[] = [
  {
    what: 'lists webhooks in the order of writing',
    broken: (sound) => ({ webhooks: { load: async () => (await sound.webhooks.load()).toReversed() } }),
    caughtBy: 'gives back every webhook as it was last written',
  },
  {
    what: 'writes a webhook whatever its version is',
    broken: (sound) => ({
      async commit(mutations) {
        const present = new Map((await sound.webhooks.load()).map(({ id, version }) => [id, version]))
        return sound.commit(
          changedWebhooks(mutations, (webhook) => {
            const expected_version = present.get(webhook.id) ?? 0
            return { kind: 'webhook.write', webhook: { ...webhook, version: expected_version + 1 }, expected_version }
          }),
        )
      },
    }),
    caughtBy: 'writes a webhook only at its expected version',
  },
  {
    what: 'keeps a webhook that is deleted',
    broken: (sound) => ({
      commit: (mutations) =>
        sound.commit(
          changedWebhooks(mutations, (webhook, expected_version) => ({
            kind: 'webhook.write',
            webhook: { ...webhook, deleted_at: null },
            expected_version,
          })),
        ),
    }),
    caughtBy: 'removes a webhook that is deleted',
  },
  {
    what: 'has room for ten webhooks',
    broken: (sound) => ({ webhooks: { load: async () => (await sound.webhooks.load()).slice(0, 10) } }),
    caughtBy: 'has room for every webhook',
  },
  {
    what: 'gives a reader to everybody who asks',
    broken: (sound) => ({ readers: { hold: (name, _, forMs) => sound.readers.hold(name, 'anybody', forMs) } }),
    caughtBy: 'gives a reader to one holder at a time',
  },
  {
    what: 'gives a new reader to all who ask at once',
    broken: (sound) => {
      const asked = new Map<string, Promise<HeldReader | null>>()
      return {
        readers: {
          hold(name, ...rest) {
            const answer = asked.get(name) ?? sound.readers.hold(name, ...rest).finally(() => asked.delete(name))
            asked.set(name, answer)
            return answer
          },
        },
      }
    },
    caughtBy: 'gives a new reader to one of those',
  },
  {
    what: 'never ends a lease',
    broken: (sound) => ({ readers: { hold: (name, holder) => sound.readers.hold(name, holder, 1e9) } }),
    caughtBy: 'gives a reader to the next holder once its lease is over',
  },
  {
    what: 'has the same fence for every holder',
    broken: (sound) => ({
      readers: {
        async hold(...asked) {
          const reader = await sound.readers.hold(...asked)
          return reader && { ...reader, fence: 1 }
        },
      },
    }),
    caughtBy: 'gives a reader to the next holder once its lease is over',
  },
  {
    what: 'holds on to a lease for the longest time that was asked for',
    broken: (sound) => {
      const longest = new Map<string, number>()
      return {
        readers: {
          hold(name, holder, forMs) {
            const until = Math.max(forMs, longest.get(`${name} ${holder}`) ?? 0)
            longest.set(`${name} ${holder}`, until)
            return sound.readers.hold(name, holder, until)
          },
        },
      }
    },
    caughtBy: 'ends a lease at the time that its holder asked for last',
  },
  {
    what: 'releases nothing',
    broken: () => ({ readers: { release: async () => {} } }),
    caughtBy: 'gives readers that their holder released',
  },
  {
    what: 'releases the readers of all holders',
    broken: (sound) => {
      const holders = new Set<string>()
      return {
        readers: {
          hold(name, holder, forMs) {
            holders.add(holder)
            return sound.readers.hold(name, holder, forMs)
          },
          async release() {
            for (const holder of holders) await sound.readers.release(holder)
          },
        },
      }
    },
    caughtBy: 'gives readers that their holder released',
  },
  {
    what: 'forgets the state of a reader',
    broken: (sound) => ({ readers: { save: (batch) => sound.readers.save({ ...batch, state: {} }) } }),
    caughtBy: 'keeps the positions and the state of a reader',
  },
  {
    what: 'saves for a former holder of the reader',
    broken: (sound) => {
      const fences = new Map<string, number>()
      return {
        readers: {
          async hold(...asked) {
            const reader = await sound.readers.hold(...asked)
            if (reader !== null) fences.set(reader.name, reader.fence)
            return reader
          },
          save: ({ reader: { name, fence }, ...batch }) =>
            sound.readers.save({ ...batch, reader: { name, fence: fences.get(name) ?? fence } }),
        },
      }
    },
    caughtBy: 'writes no position and no count for a holder that has lost',
  },
  {
    what: 'writes the counts of a holder that has lost its reader',
    broken: (sound) => ({
      readers: {
        async save(batch) {
          if (await sound.readers.save(batch)) return true
          const other = (await sound.readers.hold('another', 'holder', 1e6)) as HeldReader
          await sound.readers.save({ ...batch, reader: other })
          await sound.readers.remove('another')
          return false
        },
      },
    }),
    caughtBy: 'writes no position and no count for a holder that has lost',
  },
  {
    what: 'refuses a save behind the end of a lease that nobody else has taken',
    broken: (sound) => {
      const ends = new Map<number, number>()
      return {
        readers: {
          async hold(name, holder, forMs) {
            const reader = await sound.readers.hold(name, holder, forMs)
            if (reader !== null) ends.set(reader.fence, Date.now() + forMs)
            return reader
          },
          async save(batch) {
            return (ends.get(batch.reader.fence) ?? 0) > Date.now() && sound.readers.save(batch)
          },
        },
      }
    },
    caughtBy: 'lets a holder save behind the end of its lease',
  },
  {
    what: 'saves the positions first',
    broken: (sound) => ({
      readers: {
        async save(batch) {
          await sound.readers.save({ ...batch, deliveries: [] })
          for (let looks = 0; looks < 5; looks += 1) await sound.readers.get(batch.reader.name)
          return sound.readers.save(batch)
        },
      },
    }),
    caughtBy: 'shows the positions of a batch never before its deliveries',
  },
  {
    what: 'writes deliveries of a batch again',
    broken: (sound) => ({
      readers: {
        async save(batch) {
          const again = await Promise.all(batch.deliveries.map((delivery) => atPresentVersion(sound, delivery)))
          await sound.deliveries.update(again)
          return sound.readers.save(batch)
        },
      },
    }),
    caughtBy: 'changes nothing more when a batch is saved again',
  },
  {
    what: 'names readers that were never saved',
    broken: (sound) => {
      const held = new Set<string>()
      return {
        readers: {
          hold: async (name, holder, forMs) => {
            held.add(name)
            return sound.readers.hold(name, holder, forMs)
          },
          list: async (prefix) =>
            [...new Set([...held, ...(await sound.readers.list(prefix))])]
              .filter((name) => name.startsWith(prefix))
              .sort(),
        },
      }
    },
    caughtBy: 'names a reader from its first save on',
  },
  {
    what: 'names the readers that have a text anywhere',
    broken: (sound) => ({
      readers: {
        list: async (prefix) => (await sound.readers.list('')).filter((name) => name.includes(prefix.slice(-2))),
      },
    }),
    caughtBy: 'names the readers that begin so',
  },
  {
    what: 'names a hundred readers and no more',
    broken: (sound) => ({ readers: { list: async (prefix) => (await sound.readers.list(prefix)).slice(0, 100) } }),
    caughtBy: 'names more readers than it reads at a time',
  },
  {
    what: 'keeps the positions of a reader that is removed',
    broken: () => ({ readers: { remove: async () => {} } }),
    caughtBy: 'forgets a reader whole',
  },
  {
    what: 'cuts the text of a delivery at its first NUL',
    broken: (sound) => ({
      deliveries: {
        async get(id) {
          const found = await sound.deliveries.get(id)
          return (
            found && { ...found, event: { ...found.event, subject: found.event.subject.split('\u0000')[0] as string } }
          )
        },
      },
    }),
    caughtBy: 'gives back a delivery as it was written',
  },
  {
    what: 'replaces a delivery that exists',
    broken: (sound) => ({
      deliveries: {
        async add(delivery) {
          await sound.deliveries.add(delivery)
          await sound.deliveries.update([await atPresentVersion(sound, delivery)])
        },
      },
    }),
    caughtBy: 'leaves a delivery as it is that exists already',
  },
  {
    what: 'writes deliveries back whatever their version is',
    broken: (sound) => ({
      deliveries: {
        update: async (deliveries) =>
          sound.deliveries.update(await Promise.all(deliveries.map((delivery) => atPresentVersion(sound, delivery)))),
      },
    }),
    caughtBy: 'writes deliveries back that are at the version before',
  },
  {
    what: 'says that every delivery was written back',
    broken: (sound) => ({
      deliveries: {
        async update(deliveries) {
          await sound.deliveries.update(deliveries)
          return deliveries.map(({ id }) => id)
        },
      },
    }),
    caughtBy: 'writes deliveries back that are at the version before',
  },
  {
    what: 'lists deliveries oldest first',
    broken: (sound) => ({
      deliveries: {
        async list(filter, page) {
          const { items, next } = await sound.deliveries.list(filter, page)
          return { items: items.toReversed(), next }
        },
      },
    }),
    caughtBy: `lists deliveries newest first, page by page, by ${JSON.stringify({ webhook_id: idOf('whk', 2) })}`,
  },
  {
    what: 'lists deliveries of every status',
    broken: (sound) => ({
      deliveries: { list: ({ webhook_id }, page) => sound.deliveries.list({ webhook_id }, page) },
    }),
    caughtBy: `lists deliveries newest first, page by page, by ${JSON.stringify({ webhook_id: idOf('whk', 1), status: 'failed' })}`,
  },
  {
    what: 'lists a delivery by the status that it had when it was found first',
    broken: (sound) => {
      const first = new Map<string, string>()
      return {
        deliveries: {
          async list({ webhook_id, status }, page) {
            const { items, next } = await sound.deliveries.list({ webhook_id }, page)
            for (const one of items) if (!first.has(one.id)) first.set(one.id, one.status)
            return { items: items.filter(({ id }) => status === undefined || first.get(id) === status), next }
          },
        },
      }
    },
    caughtBy: 'lists a delivery by the status that it was given last',
  },
  {
    what: 'pages through deliveries by counting them',
    broken: (sound) => ({
      deliveries: {
        async list(filter, { limit, after }) {
          const { items } = await sound.deliveries.list(filter, WHOLE)
          const end = Number(after ?? 0) + limit
          return { items: items.slice(end - limit, end), next: end < items.length ? String(end) : null }
        },
      },
    }),
    caughtBy: 'pages through deliveries without a repetition',
  },
  {
    what: 'bounds a page of deliveries by its rows alone',
    broken: (sound) => ({
      deliveries: { list: (filter, { maxBytes: _, ...page }) => sound.deliveries.list(filter, page) },
    }),
    caughtBy: 'ends a page of deliveries by bytes',
  },
  {
    what: 'lets a delivery be due only after its time',
    broken: (sound) => ({
      deliveries: { listDue: (webhookId, now, limit) => sound.deliveries.listDue(webhookId, earlier(now), limit) },
    }),
    caughtBy: 'lists the deliveries that are due',
  },
  {
    what: 'lists the delivery first that is due last',
    broken: (sound) => ({
      deliveries: { listDue: async (...asked) => (await sound.deliveries.listDue(...asked)).toReversed() },
    }),
    caughtBy: 'lists the deliveries that are due',
  },
  {
    what: 'takes the event of the next attempt for the oldest one',
    broken: (sound) => ({
      deliveries: {
        async pendingOf(webhookId) {
          const [next] = await sound.deliveries.listDue(webhookId, FAR, 1)
          return next === undefined
            ? null
            : { next_attempt_at: next.next_attempt_at as string, oldest_event_at: next.event.at }
        },
      },
    }),
    caughtBy: 'knows when the next attempt of an endpoint is',
  },
  {
    what: 'removes deliveries however old they are',
    broken: (sound) => ({ deliveries: { remove: (webhookId) => sound.deliveries.remove(webhookId, null) } }),
    caughtBy: 'removes the deliveries of one endpoint',
  },
  {
    what: 'removes all deliveries in one call',
    broken: (sound) => ({
      deliveries: {
        async remove(...asked) {
          let removed = 0
          for (let more = -1; more !== 0; removed += more) more = await sound.deliveries.remove(...asked)
          return removed
        },
      },
    }),
    caughtBy: 'removes a bounded number of deliveries at a time',
  },
  {
    what: 'takes the end of a time span of counts for inclusive',
    broken: (sound) => ({
      counts: { list: (filter, limit) => sound.counts.list({ ...filter, to_ms: filter.to_ms + 1 }, limit) },
    }),
    caughtBy: 'lists counts of one series',
  },
  {
    what: 'keeps the first count of an id',
    broken: (sound) => {
      const known = new Set<string>()
      return {
        readers: {
          save(batch) {
            const counts = batch.counts.filter(({ id }) => !known.has(id))
            for (const { id } of counts) known.add(id)
            return sound.readers.save({ ...batch, counts })
          },
        },
      }
    },
    caughtBy: 'replaces the count of the same id',
  },
  {
    what: 'takes counts from the first holder alone',
    broken: (sound) => {
      let first: number | undefined
      return {
        readers: {
          save(batch) {
            first ??= batch.reader.fence
            return sound.readers.save(batch.reader.fence === first ? batch : { ...batch, counts: [] })
          },
        },
      }
    },
    caughtBy: 'goes on with the counts of the holder before',
  },
  {
    what: 'cuts the ids of counts',
    broken: (sound) => ({
      readers: {
        save: (batch) =>
          sound.readers.save({ ...batch, counts: batch.counts.map((one) => ({ ...one, id: one.id.slice(0, 128) })) }),
      },
    }),
    caughtBy: 'keeps counts whose ids have as many bytes',
  },
  {
    what: 'removes the counts of the time itself, too',
    broken: (sound) => ({ counts: { remove: (series, beforeMs) => sound.counts.remove(series, beforeMs + 1) } }),
    caughtBy: 'removes the counts of one series',
  },
  {
    what: 'takes the nodes of all trees for those of one',
    broken: (sound) => ({
      readers: {
        save: (batch) =>
          sound.readers.save({ ...batch, nodes: batch.nodes.map((node) => ({ ...node, tree: 'tree' })) }),
      },
      trees: { getNodes: (_, places) => sound.trees.getNodes('tree', places) },
    }),
    caughtBy: 'finds the nodes of one tree',
  },
  {
    what: 'lists checkpoints newest first',
    broken: (sound) => ({
      trees: { listCheckpoints: async (...asked) => (await sound.trees.listCheckpoints(...asked)).toReversed() },
    }),
    caughtBy: 'lists checkpoints from an index on',
  },
  {
    what: 'writes the checkpoints of a holder that has lost its reader',
    broken: (sound) => ({
      readers: {
        async save(batch) {
          if (await sound.readers.save(batch)) return true
          const other = (await sound.readers.hold('another', 'holder', 1e6)) as HeldReader
          await sound.readers.save({ ...batch, reader: other, counts: [] })
          await sound.readers.remove('another')
          return false
        },
      },
    }),
    caughtBy: 'writes no node and no checkpoint for a holder',
  },
  {
    what: 'names the log alone that it writes',
    broken: (sound) => ({
      audit: {
        async listLogs() {
          const { items } = await sound.audit.list({}, { limit: 1, after: null })
          return (await sound.audit.listLogs()).filter(({ log }) => log === items[0]?.log)
        },
      },
    }),
    caughtBy: 'names every log that has an entry',
  },
  {
    what: 'takes the last index in the order of texts for the end of a log',
    broken: (sound) => ({
      audit: {
        async listLogs() {
          const ends = await sound.audit.listLogs()
          return ends.map(({ log, next_index }) => {
            const last = [...Array(next_index).keys()].map(String).sort().at(-1)
            return { log, next_index: Number(last) + 1 }
          })
        },
      },
    }),
    caughtBy: 'names every log that has an entry',
  },
  {
    what: 'remembers the ends of logs',
    broken: (sound) => {
      let known: Promise<readonly LogEnd[]> | undefined
      return {
        audit: {
          listLogs() {
            known ??= sound.audit.listLogs()
            return known
          },
        },
      }
    },
    caughtBy: 'knows the end of a log as soon as a commit has resolved',
  },
  {
    what: 'finds the revisions of live policies alone',
    broken: (sound: Store) => ({
      policies: {
        async getRevision(id, revision) {
          const { policies } = await sound.policies.load()
          return policies.some((policy) => policy.id === id) ? sound.policies.getRevision(id, revision) : null
        },
      },
    }),
    caughtBy: 'finds each revision of a policy',
  },
  {
    what: 'answers the feed otherwise than itself',
    broken: (sound) => ({
      keys: { load: async () => (await sound.keys.load()).map((key) => ({ ...key, version: 9 })) },
    }),
    caughtBy: 'answers every read of the feed the same',
  },
  {
    what: 'goes on answering a thread that has closed it',
    brokenReads: () => ({ close: async () => {} }),
    caughtBy: 'sees in the opening for the feed',
  },
  {
    what: 'shows a thread what it found first',
    brokenReads: (sound) => {
      const first = new Map<string, ReturnType<FeedStore['deliveries']['get']>>()
      return {
        deliveries: {
          get(id) {
            const name = id.slice(0, -1)
            const answer = first.get(name) ?? sound.deliveries.get(id)
            first.set(name, answer)
            return answer
          },
        },
        audit: {
          async listLogs() {
            return []
          },
        },
      }
    },
    caughtBy: 'sees in the opening for the feed',
  },
]
