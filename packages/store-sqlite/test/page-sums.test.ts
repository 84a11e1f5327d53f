import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LogPen } from '@countersign/testkit/store-suite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteStore } from '#store-sqlite/open'
import { PageSums } from '#store-sqlite/page-sums'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countersign-sums-'))
})
afterEach(() => rmSync(dataDir, { recursive: true }))

const path = (suffix: string) => join(dataDir, `countersign.db${suffix}`)

describe('the sums of pages', () => {
  it('are taken of more pages at once than a call has arguments', async () => {
    await (await openSqliteStore({ dataDir })).close()
    const pages = 200_000
    PageSums.read(path('')).take(new Map(Array.from(Array(pages), (_, i) => [i + 1, 7])))
    expect(statSync(path('-sums')).size).toBe(32 + 4 * pages)
  })

  it('that cannot be written keep the log from being copied, and that is told', async () => {
    const told: Error[] = []
    const store = await openSqliteStore({ dataDir, onError: (error) => told.push(error) })
    try {
      const pen = await LogPen.of(store)
      rmSync(path('-sums'))
      mkdirSync(path('-sums'))
      const note = 'x'.repeat(1_000_000)
      for (let i = 0; i < 50; i += 1) await pen.commit({ change: { kind: 'entry.only' }, entry: { data: { note } } })
      expect(told.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^The -wal file could not be copied .*-sums/),
      ])
    } finally {
      await store.close().catch(() => {})
    }
  })
})
