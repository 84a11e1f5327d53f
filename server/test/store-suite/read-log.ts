import type { AuditEntry } from '@countersign/contract'
import { expect } from 'vitest'
import type { Store } from '#server/ports/store/store'
import { createOf, decisionOf, LogPen, updateOf } from './documents.js'
import { type StoreCase, WHOLE } from './store-case.js'

const entryOnly = { kind: 'entry.only' } as const
const ENTRIES = 30
const ROUNDS = 20

const SMALL = 10_000
const LARGE = 105_000
/** Three small entries with what is stored beside their texts, and not four. */
const MAX_BYTES = 35_000

async function writeEntries(store: Store, count: number): Promise<LogPen> {
  const pen = await LogPen.of(store)
  await pen.commit(...Array(count).fill(entryOnly))
  return pen
}

/** The whole log, by another way than the one under test. */
async function listed(store: Store, log: string): Promise<readonly AuditEntry[]> {
  const { items } = await store.audit.list({}, WHOLE)
  return items.filter((entry) => entry.log === log).toReversed()
}

/** Goes on behind its last entry until it meets the end, as a reader with a cursor does. */
export class LogReader {
  readonly entries: AuditEntry[] = []

  constructor(
    private readonly store: Store,
    private readonly log: string,
    private readonly limit: number,
  ) {}

  async readOn(): Promise<void> {
    for (;;) {
      const next = (this.entries.at(-1)?.index ?? -1) + 1
      const found = await this.store.audit.read(this.log, next, this.limit)
      expect(found.length).toBeLessThanOrEqual(this.limit)
      if (found.length === 0) return
      this.entries.push(...found)
    }
  }
}

export const READ_LOG_CASES: readonly StoreCase[] = [
  {
    title: 'reads a log forward from any index, and no more entries than asked for',
    async run({ store, reopen }) {
      const { log } = await writeEntries(store, ENTRIES)
      const all = await listed(store, log)
      expect(all).toHaveLength(ENTRIES)
      const reopened = await reopen()
      for (const from of [0, 1, 17, ENTRIES - 1])
        for (const limit of [1, 4, 200])
          expect(await reopened.audit.read(log, from, limit)).toStrictEqual(all.slice(from, from + limit))
    },
  },
  {
    title: 'reads nothing behind the end of a log, nor of a log that nobody knows',
    async run({ store }) {
      const { log } = await writeEntries(store, ENTRIES)
      for (const from of [ENTRIES, ENTRIES + 1, Number.MAX_SAFE_INTEGER])
        expect(await store.audit.read(log, from, 10)).toEqual([])
      for (const name of ['another', '', log.slice(0, -1), `${log}/0`, '%', "' OR 1=1 --"])
        expect(await store.audit.read(name, 0, 10)).toEqual([])
    },
  },
  {
    title: 'reads one log and nothing of another',
    async run({ store, reopen }) {
      const first = await writeEntries(store, 3)
      const reopened = await reopen()
      await reopened.leaveLogs()
      const second = await LogPen.of(reopened)
      const entry = (index: number) => ({ change: entryOnly, entry: { id: `aud_second_${index}` } })
      await second.commit(...[0, 1, 2, 3].map(entry))
      const ids = async ({ log }: LogPen) => (await reopened.audit.read(log, 1, 10)).map(({ id }) => id)
      expect(await ids(first)).toEqual((await listed(reopened, first.log)).slice(1).map(({ id }) => id))
      expect(await ids(second)).toEqual([1, 2, 3].map((index) => `aud_second_${index}`))
    },
  },
  {
    title: 'reads an entry of a log as soon as its commit has resolved',
    async run({ store }) {
      const pen = await LogPen.of(store)
      for (let index = 0; index < ROUNDS; index += 1) {
        expect(await store.audit.read(pen.log, index, 5)).toEqual([])
        await pen.commit(entryOnly)
        expect((await store.audit.read(pen.log, index, 5)).map((entry) => entry.index)).toEqual([index])
      }
    },
  },
  {
    title: 'reads each entry of a log once that is written while the reader goes on, and none that met a conflict',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const reader = new LogReader(store, pen.log, 3)
      const missing = updateOf(decisionOf(9999), {})
      let written = 0
      for (let round = 0; round < ROUNDS; round += 1) {
        const group = [...Array(1 + (round % 7)).keys()].map((i) => createOf(decisionOf(10 * round + i)))
        const commit = pen.commit(...group, ...(round % 2 === 0 ? [missing] : []))
        await reader.readOn()
        written += (await commit).written
        await reader.readOn()
        expect(reader.entries).toHaveLength(written)
      }
      expect(reader.entries.map(({ index }) => index)).toEqual([...Array(written).keys()])
      expect(reader.entries).toStrictEqual(await listed(store, pen.log))
    },
  },
  {
    title: 'ends what it reads of a log by bytes as well',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const texts = [...Array(6).fill(SMALL), LARGE, SMALL, SMALL, LARGE, LARGE].map((length) => '.'.repeat(length))
      await pen.commit(...texts.map((text) => ({ change: entryOnly, entry: { data: { text } } })))
      const lengths: number[] = []
      for (let from = 0; from < texts.length; ) {
        const found = await store.audit.read(pen.log, from, 200, MAX_BYTES)
        expect(found[0]?.index).toBe(from)
        lengths.push(found.length)
        from += found.length
      }
      expect(lengths).toEqual([3, 3, 1, 2, 1, 1])
      expect(await store.audit.read(pen.log, 0, 2, MAX_BYTES)).toHaveLength(2)
      expect(await store.audit.read(pen.log, 0, 200)).toHaveLength(texts.length)
    },
  },
]
