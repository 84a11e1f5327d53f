import { expect } from 'vitest'
import { instant, LogPen, webhookOf, writeWebhookOf } from './documents.js'
import type { StoreCase } from './store-case.js'

const LARGEST = 50

export const WEBHOOK_CASES: readonly StoreCase[] = [
  {
    title: 'gives back every webhook as it was last written, in the order of their ids',
    async run({ store, reopen }) {
      expect(await store.webhooks.load()).toEqual([])
      const pen = await LogPen.of(store)
      const first = webhookOf(1, {
        events: ['decision.created', 'webhook.disabled'],
        description: 'naïve ☃ 𝄞 $set.a\u0000',
      })
      const second = webhookOf(2)
      expect(await pen.commit(writeWebhookOf(second), writeWebhookOf(first))).toEqual({ written: 2, conflict: null })
      expect(await store.webhooks.load()).toStrictEqual([first, second])
      const disabled = {
        ...first,
        version: 2,
        updated_at: instant(60),
        disabled: { at: instant(60), reason: 'gone' as const },
        secrets: [
          { text: 'whsec_new', expires_at: null },
          { ...first.secrets[0]!, expires_at: instant(90) },
        ],
      }
      await pen.commit(writeWebhookOf(disabled))
      expect(await store.webhooks.load()).toStrictEqual([disabled, second])
      expect(await (await reopen()).webhooks.load()).toStrictEqual([disabled, second])
    },
  },
  {
    title: 'writes a webhook only at its expected version, and its entry with it',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const webhook = webhookOf(1)
      const next = { ...webhook, version: 2, updated_at: instant(60) }
      await pen.commit(writeWebhookOf(webhook))
      const stale = [
        writeWebhookOf({ ...webhook, url: 'https://example.com/other' }),
        writeWebhookOf({ ...next, version: 3 }),
        writeWebhookOf({ ...next, version: 3, deleted_at: instant(60) }),
        writeWebhookOf({ ...webhookOf(2), version: 2 }),
        writeWebhookOf({ ...webhookOf(2), version: 2, deleted_at: instant(60) }),
      ]
      for (const change of stale) expect(await pen.commit(change)).toEqual({ written: 0, conflict: 'version' })
      expect(await store.webhooks.load()).toStrictEqual([webhook])
      expect(await store.audit.read(pen.log, 0, 10)).toHaveLength(1)
      const group = await pen.commit(
        writeWebhookOf(next),
        writeWebhookOf({ ...next, url: 'https://example.com/other' }),
      )
      expect(group).toEqual({ written: 1, conflict: 'version' })
      expect(await store.webhooks.load()).toStrictEqual([next])
      expect(await store.audit.read(pen.log, 0, 10)).toHaveLength(2)
    },
  },
  {
    title: 'removes a webhook that is deleted, and no other one',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const [first, second] = [webhookOf(1), webhookOf(2)]
      await pen.commit(writeWebhookOf(first), writeWebhookOf(second))
      const deleted = { ...first, version: 2, deleted_at: instant(60) }
      expect(await pen.commit(writeWebhookOf(deleted))).toEqual({ written: 1, conflict: null })
      expect(await store.webhooks.load()).toStrictEqual([second])
      expect(await pen.commit(writeWebhookOf({ ...first, version: 3 }))).toEqual({ written: 0, conflict: 'version' })
      expect(await (await reopen()).webhooks.load()).toStrictEqual([second])
    },
  },
  {
    title: 'has room for every webhook that there may be, each as large as it may be',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const webhooks = [...Array(LARGEST).keys()].map((number) =>
        webhookOf(100 + number, { url: `https://example.com/${'☃'.repeat(2028)}`, description: '☃'.repeat(10_000) }),
      )
      expect(await pen.commit(...webhooks.map(writeWebhookOf))).toEqual({ written: LARGEST, conflict: null })
      expect(await (await reopen()).webhooks.load()).toStrictEqual(webhooks)
    },
  },
]
