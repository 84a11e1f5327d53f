import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Connection } from '#server/stores/sqlite/driver'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { PageSums } from '#server/stores/sqlite/page-sums'
import { pageSum, readWalPosition, sumsOfFrames, type WalPosition } from '#server/stores/sqlite/wal-file'
import { LogPen } from '../../store-suite/index.js'

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

  it.each([0, 1, 4061, 4062, 4063, 8158, 8159])(
    'are those of the newest image of each page in the log from frame %i on, over the blocks of its index',
    (first) => {
      const db = Connection.open(path(''))
      db.execute('PRAGMA page_size = 512; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0')
      db.execute('PRAGMA synchronous = OFF; CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)')
      const index = openSync(path('-shm'), 'r')
      const frames = () => (readWalPosition(index) as WalPosition).frames
      while (frames() < 8400) db.run('INSERT INTO t SELECT NULL, hex(randomblob(100)) FROM json_each(?)', ROWS)
      const sums = sumsOfFrames(path('-wal'), index, first, readWalPosition(index) as WalPosition)
      expect(new Map([...sums].sort())).toEqual(new Map([...sumsInLog(first, frames(), 512)].sort()))
      closeSync(index)
      db.close()
    },
  )
})

const ROWS = JSON.stringify(Array.from({ length: 200 }, () => 0))

/** Frame by frame. */
function sumsInLog(first: number, frames: number, pageBytes: number): Map<number, number> {
  const log = readFileSync(path('-wal'))
  const sums = new Map<number, number>()
  for (let frame = first; frame < frames; frame += 1) {
    const at = 32 + frame * (24 + pageBytes)
    sums.set(log.readUInt32BE(at), pageSum(log.subarray(at + 24, at + 24 + pageBytes)))
  }
  return sums
}
