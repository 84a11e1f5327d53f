/** Stores that break one promise each of what the feed reads and writes. */
import type { StoredDelivery, StoredWebhook } from '@countersign/store-port/documents'
import type { FeedReads, FeedWrites, HeldReader, LogEnd } from '@countersign/store-port/feed'
import type { Mutation, Store } from '@countersign/store-port/store'
import { idOf, instant } from './documents.js'
import { altered, earlier, type Sabotage } from './sabotage.js'
import { WHOLE } from './store-case.js'

type Feed = FeedReads & FeedWrites

/** Later than any attempt. */
const FAR = instant(1e6)

function ofFeed(broken: (feed: Feed) => Partial<Feed>): NonNullable<Sabotage['broken']> {
  return ({ feed }) => ({ feed: altered(feed, broken(feed)) })
}

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

async function atPresentVersion(feed: Feed, delivery: StoredDelivery): Promise<StoredDelivery> {
  const found = await feed.findDelivery(delivery.id)
  return found === null ? delivery : { ...delivery, version: found.version + 1 }
}

export const FEED_SABOTAGES: readonly Sabotage[] = [
  {
    what: 'lists webhooks in the order of writing',
    broken: (sound) => ({ loadWebhooks: async () => (await sound.loadWebhooks()).toReversed() }),
    caughtBy: 'gives back every webhook as it was last written',
  },
  {
    what: 'writes a webhook whatever its version is',
    broken: (sound) => ({
      async commit(mutations) {
        const present = new Map((await sound.loadWebhooks()).map(({ id, version }) => [id, version]))
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
    broken: (sound) => ({ loadWebhooks: async () => (await sound.loadWebhooks()).slice(0, 10) }),
    caughtBy: 'has room for every webhook',
  },
  {
    what: 'gives a reader to whoever asks',
    broken: ofFeed((feed) => ({ holdReader: (name, _, forMs) => feed.holdReader(name, 'anybody', forMs) })),
    caughtBy: 'gives a reader to one holder at a time',
  },
  {
    what: 'gives a new reader to all who ask at once',
    broken: ofFeed((feed) => {
      const asked = new Map<string, Promise<HeldReader | null>>()
      return {
        holdReader(name, ...rest) {
          const answer = asked.get(name) ?? feed.holdReader(name, ...rest).finally(() => asked.delete(name))
          asked.set(name, answer)
          return answer
        },
      }
    }),
    caughtBy: 'gives a new reader to one of those',
  },
  {
    what: 'never ends a lease',
    broken: ofFeed((feed) => ({ holdReader: (name, holder) => feed.holdReader(name, holder, 1e9) })),
    caughtBy: 'gives a reader to the next holder once its lease is over',
  },
  {
    what: 'has the same fence for every holder',
    broken: ofFeed((feed) => ({
      async holdReader(...asked) {
        const reader = await feed.holdReader(...asked)
        return reader && { ...reader, fence: 1 }
      },
    })),
    caughtBy: 'gives a reader to the next holder once its lease is over',
  },
  {
    what: 'holds on to a lease for the longest time that was asked for',
    broken: ofFeed((feed) => {
      const longest = new Map<string, number>()
      return {
        holdReader(name, holder, forMs) {
          const until = Math.max(forMs, longest.get(`${name} ${holder}`) ?? 0)
          longest.set(`${name} ${holder}`, until)
          return feed.holdReader(name, holder, until)
        },
      }
    }),
    caughtBy: 'ends a lease at the time that its holder asked for last',
  },
  {
    what: 'releases nothing',
    broken: ofFeed(() => ({ releaseReaders: async () => {} })),
    caughtBy: 'gives readers that their holder released',
  },
  {
    what: 'releases the readers of all holders',
    broken: ofFeed((feed) => {
      const holders = new Set<string>()
      return {
        holdReader(name, holder, forMs) {
          holders.add(holder)
          return feed.holdReader(name, holder, forMs)
        },
        async releaseReaders() {
          for (const holder of holders) await feed.releaseReaders(holder)
        },
      }
    }),
    caughtBy: 'gives readers that their holder released',
  },
  {
    what: 'forgets the state of a reader',
    broken: ofFeed((feed) => ({ save: (batch) => feed.save({ ...batch, state: {} }) })),
    caughtBy: 'keeps the positions and the state of a reader',
  },
  {
    what: 'saves for whoever held the reader once',
    broken: ofFeed((feed) => {
      const fences = new Map<string, number>()
      return {
        async holdReader(...asked) {
          const reader = await feed.holdReader(...asked)
          if (reader !== null) fences.set(reader.name, reader.fence)
          return reader
        },
        save: ({ reader: { name, fence }, ...batch }) =>
          feed.save({ ...batch, reader: { name, fence: fences.get(name) ?? fence } }),
      }
    }),
    caughtBy: 'writes no position and no count for a holder that has lost',
  },
  {
    what: 'writes the counts of a holder that has lost its reader',
    broken: ofFeed((feed) => ({
      async save(batch) {
        if (await feed.save(batch)) return true
        const other = (await feed.holdReader('another', 'holder', 1e6)) as HeldReader
        await feed.save({ ...batch, reader: other })
        await feed.removeReader('another')
        return false
      },
    })),
    caughtBy: 'writes no position and no count for a holder that has lost',
  },
  {
    what: 'refuses a save behind the end of a lease that nobody else has taken',
    broken: ofFeed((feed) => {
      const ends = new Map<number, number>()
      return {
        async holdReader(name, holder, forMs) {
          const reader = await feed.holdReader(name, holder, forMs)
          if (reader !== null) ends.set(reader.fence, Date.now() + forMs)
          return reader
        },
        async save(batch) {
          return (ends.get(batch.reader.fence) ?? 0) > Date.now() && feed.save(batch)
        },
      }
    }),
    caughtBy: 'lets a holder save behind the end of its lease',
  },
  {
    what: 'saves the positions first',
    broken: ofFeed((feed) => ({
      async save(batch) {
        await feed.save({ ...batch, deliveries: [] })
        for (let looks = 0; looks < 5; looks += 1) await feed.findReader(batch.reader.name)
        return feed.save(batch)
      },
    })),
    caughtBy: 'shows the positions of a batch never before its deliveries',
  },
  {
    what: 'writes deliveries of a batch again',
    broken: ofFeed((feed) => ({
      async save(batch) {
        const again = await Promise.all(batch.deliveries.map((delivery) => atPresentVersion(feed, delivery)))
        await feed.updateDeliveries(again)
        return feed.save(batch)
      },
    })),
    caughtBy: 'changes nothing more when a batch is saved again',
  },
  {
    what: 'names readers that were never saved',
    broken: ofFeed((feed) => {
      const held = new Set<string>()
      return {
        holdReader: async (name, holder, forMs) => {
          held.add(name)
          return feed.holdReader(name, holder, forMs)
        },
        listReaders: async (prefix) =>
          [...new Set([...held, ...(await feed.listReaders(prefix))])].filter((name) => name.startsWith(prefix)).sort(),
      }
    }),
    caughtBy: 'names a reader from its first save on',
  },
  {
    what: 'names the readers that have a text anywhere',
    broken: ofFeed((feed) => ({
      listReaders: async (prefix) => (await feed.listReaders('')).filter((name) => name.includes(prefix.slice(-2))),
    })),
    caughtBy: 'names the readers that begin so',
  },
  {
    what: 'names a hundred readers and no more',
    broken: ofFeed((feed) => ({ listReaders: async (prefix) => (await feed.listReaders(prefix)).slice(0, 100) })),
    caughtBy: 'names more readers than it reads at a time',
  },
  {
    what: 'keeps the positions of a reader that is removed',
    broken: ofFeed(() => ({ removeReader: async () => {} })),
    caughtBy: 'forgets a reader whole',
  },
  {
    what: 'cuts the text of a delivery at its first NUL',
    broken: ofFeed((feed) => ({
      async findDelivery(id) {
        const found = await feed.findDelivery(id)
        return (
          found && { ...found, event: { ...found.event, subject: found.event.subject.split('\u0000')[0] as string } }
        )
      },
    })),
    caughtBy: 'gives back a delivery as it was written',
  },
  {
    what: 'replaces a delivery that exists',
    broken: ofFeed((feed) => ({
      async addDelivery(delivery) {
        await feed.addDelivery(delivery)
        await feed.updateDeliveries([await atPresentVersion(feed, delivery)])
      },
    })),
    caughtBy: 'leaves a delivery as it is that exists already',
  },
  {
    what: 'writes deliveries back whatever their version is',
    broken: ofFeed((feed) => ({
      updateDeliveries: async (deliveries) =>
        feed.updateDeliveries(await Promise.all(deliveries.map((delivery) => atPresentVersion(feed, delivery)))),
    })),
    caughtBy: 'writes deliveries back that are at the version before',
  },
  {
    what: 'says that every delivery was written back',
    broken: ofFeed((feed) => ({
      async updateDeliveries(deliveries) {
        await feed.updateDeliveries(deliveries)
        return deliveries.map(({ id }) => id)
      },
    })),
    caughtBy: 'writes deliveries back that are at the version before',
  },
  {
    what: 'lists deliveries oldest first',
    broken: ofFeed((feed) => ({
      async listDeliveries(filter, page) {
        const { items, next } = await feed.listDeliveries(filter, page)
        return { items: items.toReversed(), next }
      },
    })),
    caughtBy: `lists deliveries newest first, page by page, by ${JSON.stringify({ webhook_id: idOf('whk', 2) })}`,
  },
  {
    what: 'lists deliveries of every status',
    broken: ofFeed((feed) => ({
      listDeliveries: ({ webhook_id }, page) => feed.listDeliveries({ webhook_id }, page),
    })),
    caughtBy: `lists deliveries newest first, page by page, by ${JSON.stringify({ webhook_id: idOf('whk', 1), status: 'failed' })}`,
  },
  {
    what: 'lists a delivery by the status that it had when it was found first',
    broken: ofFeed((feed) => {
      const first = new Map<string, string>()
      return {
        async listDeliveries({ webhook_id, status }, page) {
          const { items, next } = await feed.listDeliveries({ webhook_id }, page)
          for (const one of items) if (!first.has(one.id)) first.set(one.id, one.status)
          return { items: items.filter(({ id }) => status === undefined || first.get(id) === status), next }
        },
      }
    }),
    caughtBy: 'lists a delivery by the status that it was given last',
  },
  {
    what: 'pages through deliveries by counting them',
    broken: ofFeed((feed) => ({
      async listDeliveries(filter, { limit, after }) {
        const { items } = await feed.listDeliveries(filter, WHOLE)
        const end = Number(after ?? 0) + limit
        return { items: items.slice(end - limit, end), next: end < items.length ? String(end) : null }
      },
    })),
    caughtBy: 'pages through deliveries without a repetition',
  },
  {
    what: 'bounds a page of deliveries by its rows alone',
    broken: ofFeed((feed) => ({
      listDeliveries: (filter, { maxBytes: _, ...page }) => feed.listDeliveries(filter, page),
    })),
    caughtBy: 'ends a page of deliveries by bytes',
  },
  {
    what: 'lets a delivery be due only after its time',
    broken: ofFeed((feed) => ({ listDue: (webhookId, now, limit) => feed.listDue(webhookId, earlier(now), limit) })),
    caughtBy: 'lists the deliveries that are due',
  },
  {
    what: 'lists the delivery first that is due last',
    broken: ofFeed((feed) => ({ listDue: async (...asked) => (await feed.listDue(...asked)).toReversed() })),
    caughtBy: 'lists the deliveries that are due',
  },
  {
    what: 'takes the event of the next attempt for the oldest one',
    broken: ofFeed((feed) => ({
      async pendingOf(webhookId) {
        const [next] = await feed.listDue(webhookId, FAR, 1)
        return next === undefined
          ? null
          : { next_attempt_at: next.next_attempt_at as string, oldest_event_at: next.event.at }
      },
    })),
    caughtBy: 'knows when the next attempt of an endpoint is',
  },
  {
    what: 'removes deliveries however old they are',
    broken: ofFeed((feed) => ({ removeDeliveries: (webhookId) => feed.removeDeliveries(webhookId, null) })),
    caughtBy: 'removes the deliveries of one endpoint',
  },
  {
    what: 'removes all deliveries in one call',
    broken: ofFeed((feed) => ({
      async removeDeliveries(...asked) {
        let removed = 0
        for (let more = -1; more !== 0; removed += more) more = await feed.removeDeliveries(...asked)
        return removed
      },
    })),
    caughtBy: 'removes a bounded number of deliveries at a time',
  },
  {
    what: 'takes the end of a time span of counts for inclusive',
    broken: ofFeed((feed) => ({
      listCounts: (filter, limit) => feed.listCounts({ ...filter, to_ms: filter.to_ms + 1 }, limit),
    })),
    caughtBy: 'lists counts of one series',
  },
  {
    what: 'keeps the first count of an id',
    broken: ofFeed((feed) => {
      const known = new Set<string>()
      return {
        save(batch) {
          const counts = batch.counts.filter(({ id }) => !known.has(id))
          for (const { id } of counts) known.add(id)
          return feed.save({ ...batch, counts })
        },
      }
    }),
    caughtBy: 'replaces the count of the same id',
  },
  {
    what: 'takes counts from the first holder alone',
    broken: ofFeed((feed) => {
      let first: number | undefined
      return {
        save(batch) {
          first ??= batch.reader.fence
          return feed.save(batch.reader.fence === first ? batch : { ...batch, counts: [] })
        },
      }
    }),
    caughtBy: 'goes on with the counts of the holder before',
  },
  {
    what: 'cuts the ids of counts',
    broken: ofFeed((feed) => ({
      save: (batch) =>
        feed.save({ ...batch, counts: batch.counts.map((one) => ({ ...one, id: one.id.slice(0, 128) })) }),
    })),
    caughtBy: 'keeps counts whose ids have as many bytes',
  },
  {
    what: 'removes the counts of the time itself, too',
    broken: ofFeed((feed) => ({ removeCounts: (series, beforeMs) => feed.removeCounts(series, beforeMs + 1) })),
    caughtBy: 'removes the counts of one series',
  },
  {
    what: 'takes the nodes of all trees for those of one',
    broken: ofFeed((feed) => ({
      save: (batch) => feed.save({ ...batch, nodes: batch.nodes.map((node) => ({ ...node, tree: 'tree' })) }),
      findNodes: (_, places) => feed.findNodes('tree', places),
    })),
    caughtBy: 'finds the nodes of one tree',
  },
  {
    what: 'lists checkpoints newest first',
    broken: ofFeed((feed) => ({
      listCheckpoints: async (...asked) => (await feed.listCheckpoints(...asked)).toReversed(),
    })),
    caughtBy: 'lists checkpoints from an index on',
  },
  {
    what: 'writes the checkpoints of a holder that has lost its reader',
    broken: ofFeed((feed) => ({
      async save(batch) {
        if (await feed.save(batch)) return true
        const other = (await feed.holdReader('another', 'holder', 1e6)) as HeldReader
        await feed.save({ ...batch, reader: other, counts: [] })
        await feed.removeReader('another')
        return false
      },
    })),
    caughtBy: 'writes no node and no checkpoint for a holder',
  },
  {
    what: 'names the log alone that it writes',
    broken: (sound) => ({
      feed: altered(sound.feed, {
        async listLogs() {
          const { items } = await sound.listAuditEntries({}, { limit: 1, after: null })
          return (await sound.feed.listLogs()).filter(({ log }) => log === items[0]?.log)
        },
      }),
    }),
    caughtBy: 'names every log that has an entry',
  },
  {
    what: 'takes the last index in the order of texts for the end of a log',
    broken: ofFeed((feed) => ({
      async listLogs() {
        const ends = await feed.listLogs()
        return ends.map(({ log, next_index }) => {
          const last = [...Array(next_index).keys()].map(String).sort().at(-1)
          return { log, next_index: Number(last) + 1 }
        })
      },
    })),
    caughtBy: 'names every log that has an entry',
  },
  {
    what: 'remembers the ends of logs',
    broken: ofFeed((feed) => {
      let known: Promise<readonly LogEnd[]> | undefined
      return {
        listLogs() {
          known ??= feed.listLogs()
          return known
        },
      }
    }),
    caughtBy: 'knows the end of a log as soon as a commit has resolved',
  },
  {
    what: 'finds the revisions of live policies alone',
    broken: (sound: Store) => ({
      feed: altered(sound.feed, {
        async findPolicyRevision(id, revision) {
          const { policies } = await sound.loadPolicies()
          return policies.some((policy) => policy.id === id) ? sound.feed.findPolicyRevision(id, revision) : null
        },
      }),
    }),
    caughtBy: 'finds each revision of a policy',
  },
  {
    what: 'answers the feed otherwise than itself',
    broken: ofFeed((feed) => ({
      loadKeys: async () => (await feed.loadKeys()).map((key) => ({ ...key, version: 9 })),
    })),
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
      const first = new Map<string, ReturnType<FeedReads['findDelivery']>>()
      return {
        findDelivery(id) {
          const name = id.slice(0, -1)
          const answer = first.get(name) ?? sound.findDelivery(id)
          first.set(name, answer)
          return answer
        },
        async listLogs() {
          return []
        },
      }
    },
    caughtBy: 'sees in the opening for the feed',
  },
]
