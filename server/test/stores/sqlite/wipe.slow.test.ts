/** What was erased is in no file of the store any more, wherever SQLite has left it. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stress } from '@countersign/testkit'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredDecision } from '#server/ports/store/documents'
import { Connection } from '#server/stores/sqlite/driver'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { readTreePage, UnreadablePageError } from '#server/stores/sqlite/wipe/free-space'
import { wipePages } from '#server/stores/sqlite/wipe/wipe-pages'
import { createOf, type Draft, decisionOf, idempotencyOf, instant, LogPen, updateOf } from '../../store-suite/index.js'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countersign-wipe-'))
})
afterEach(() => rmSync(dataDir, { recursive: true }))

/** Which of the texts some file of the directory has. */
function foundIn(directory: string, texts: readonly string[]): string[] {
  const files = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'latin1'))
  return texts.filter((text) => files.some((file) => file.includes(text)))
}

/** Something that stands in a file as it is, and nowhere by chance. */
const marker = (kind: string, number: number) => `${kind}-${(number * 2_654_435_761) % 4_294_967_296}-${number}`

interface Asked {
  readonly decision: StoredDecision
  readonly markers: readonly string[]
}

/** Random hashes and resources split the pages of their indexes; some contexts are larger than a page. */
function asked(number: number) {
  const [hash, resource, fact] = ['hash', 'order', 'fact'].map((kind) => marker(kind, number)) as [
    string,
    string,
    string,
  ]
  const decision = decisionOf(number, { request_hash: hash, resource: `order:${resource}` })
  const context = { fact, more: 'x'.repeat(number % 7 === 0 ? 9000 + number : number % 300), end: `${fact}-end` }
  const request = { context, salt: marker('salt', number) }
  const idempotency = idempotencyOf(decision.id, { key: `call-${number}`, fingerprint: hash })
  return { decision, request, idempotency, markers: [hash, resource, fact, `${fact}-end`, request.salt] }
}

async function commitAll(pen: LogPen, drafts: readonly Draft[]): Promise<void> {
  expect(await pen.commit(...drafts)).toMatchObject({ written: drafts.length, conflict: null })
}

async function erase(pen: LogPen, decisions: readonly Asked[]): Promise<void> {
  await commitAll(
    pen,
    decisions.map(({ decision }) => ({
      change: {
        ...updateOf(decision, { resource: null, request_hash: null, request_erased_at: instant(9) }),
        erases_request: true,
      },
    })),
  )
}

/** Decisions of which some were confirmed: their rows were replaced by longer ones. */
async function fill(pen: LogPen, count: number): Promise<Asked[]> {
  const all: Asked[] = []
  for (let from = 0; from < count; from += 100) {
    const group = Array.from({ length: Math.min(100, count - from) }, (_, i) => asked(from + i))
    await commitAll(
      pen,
      group.map(({ decision, request, idempotency }) => ({ change: createOf(decision, request), idempotency })),
    )
    const confirmed = group.map(({ decision }, i) =>
      i % 2 === 0 ? updateOf(decision, { status: 'confirmed', reason: 'y'.repeat((i * 37) % 600) }) : null,
    )
    await commitAll(
      pen,
      confirmed.flatMap((change) => (change === null ? [] : [{ change }])),
    )
    all.push(...group.map(({ decision, markers }, i) => ({ decision: confirmed[i]?.decision ?? decision, markers })))
  }
  return all
}

describe('wiping', () => {
  it('leaves nothing of erased requests in any file, and everything of the others', async () => {
    const store = await openSqliteStore({ dataDir })
    const pen = await LogPen.of(store)
    const all = await fill(pen, 300)
    const erased = all.filter((_, i) => i % 3 === 0)
    const markers = erased.flatMap((one) => one.markers)
    const kept = all.filter((_, i) => i % 3 !== 0)
    expect(foundIn(dataDir, markers)).toEqual(markers)
    await erase(pen, erased)
    expect(foundIn(dataDir, markers)).not.toEqual([])
    await store.wipe()
    expect(foundIn(dataDir, markers)).toEqual([])
    for (const { decision, markers } of kept) {
      const found = await store.decisions.get(decision.id)
      expect(found?.decision).toEqual(decision)
      expect(found?.request.salt).toBe(markers.at(-1))
    }
    await store.close()
    const again = await openSqliteStore({ dataDir })
    expect((await again.decisions.get((erased[0] as Asked).decision.id))?.request).toEqual({
      context: null,
      salt: null,
    })
    await again.close()
    expect(foundIn(dataDir, markers)).toEqual([])
    expect(faultOf(join(dataDir, 'countersign.db'))).toBe('ok')
  })

  it('is made up for by the next process when one ended before it', async () => {
    const store = await openSqliteStore({ dataDir })
    const pen = await LogPen.of(store)
    const all = await fill(pen, 200)
    await erase(pen, all)
    // As after a loss of power: the next process has what is on the disk now.
    const copy = mkdtempSync(join(tmpdir(), 'countersign-wipe-'))
    for (const name of readdirSync(dataDir)) copyFileSync(join(dataDir, name), join(copy, name))
    await store.close()
    const markers = all.flatMap((one) => one.markers)
    try {
      const again = await openSqliteStore({ dataDir: copy })
      expect(foundIn(copy, markers)).not.toEqual([])
      await again.wipe()
      expect(foundIn(copy, markers)).toEqual([])
      await again.close()
    } finally {
      rmSync(copy, { recursive: true })
    }
  })

  it('leaves nothing of removed decisions', async () => {
    const store = await openSqliteStore({ dataDir })
    const pen = await LogPen.of(store)
    const all = await fill(pen, 200)
    const later = new Date(Date.UTC(2100, 0)).toISOString()
    const removed = all.slice(0, 120)
    expect(
      await store.decisions.remove(
        removed.map(({ decision }) => decision),
        later,
      ),
    ).toBe(120)
    await store.idempotency.purge(later)
    await store.wipe()
    expect(
      foundIn(
        dataDir,
        removed.flatMap(({ markers }) => markers),
      ),
    ).toEqual([])
    expect((await store.decisions.get((all[150] as Asked).decision.id))?.decision).toEqual(all[150]?.decision)
    await store.close()
  })

  it('waits for somebody who reads from the log, while others write', async () => {
    const store = await openSqliteStore({ dataDir })
    const pen = await LogPen.of(store)
    const [one] = await fill(pen, 1)
    const reader = Connection.openReadOnly(join(dataDir, 'countersign.db'))
    reader.run('BEGIN')
    reader.get('SELECT 1 FROM decisions')
    await erase(pen, [one as Asked])
    let isWiped = false
    const wiping = store.wipe().then(() => {
      isWiped = true
    })
    for (let number = 1000; number < 1010; number += 1) await commitAll(pen, [{ change: createOf(decisionOf(number)) }])
    expect(isWiped).toBe(false)
    reader.run('COMMIT')
    reader.close()
    await wiping
    expect(foundIn(dataDir, one?.markers ?? [])).toEqual([])
    await store.close()
  })
})

/** What SQLite finds wrong with a file. */
function faultOf(path: string): unknown {
  const db = Connection.openReadOnly(path)
  try {
    return db.get('PRAGMA integrity_check(1)')?.integrity_check
  } finally {
    db.close()
  }
}

type Step = { readonly id: number; readonly length: number }

describe('the pages of any database', () => {
  it('keep what is in use, and lose all else, whatever was written, replaced and deleted before', () => {
    const steps = fc.array(fc.record({ id: fc.nat(60), length: fc.oneof(fc.nat(200), fc.nat(20_000)) }), {
      minLength: 40,
      maxLength: 160,
    })
    fc.assert(
      fc.property(steps, fc.constantFrom(512, 1024, 4096, 65_536), (written, pageSize) => {
        const path = join(dataDir, 'any.db')
        rmSync(path, { force: true })
        expectWiped(path, written, pageSize)
      }),
      { numRuns: stress.wiped_databases },
    )
  })
})

/** Any bytes behind a kind that says that they are of a tree. */
const damagedPages = fc.record({
  kind: fc.constantFrom(2, 5, 10, 13),
  cells: fc.oneof(fc.nat(40), fc.nat(65_535)),
  contents: fc.nat(4096),
  bytes: fc.uint8Array({ minLength: 4096, maxLength: 4096 }),
})

describe('a page that is damaged', () => {
  it('is refused, or has its free bytes within itself', () => {
    fc.assert(
      fc.property(damagedPages, ({ kind, cells, contents, bytes }) => {
        const page = Buffer.from(bytes)
        page[0] = kind
        page.writeUInt16BE(cells, 3)
        page.writeUInt16BE(contents, 5)
        try {
          for (const { from, to } of readTreePage(page, false, 4096).free) expect(from <= to && to <= 4096).toBe(true)
        } catch (error) {
          if (!(error instanceof UnreadablePageError)) throw error
        }
      }),
      { numRuns: 500 },
    )
  })

  it('is refused when a free block follows itself', () => {
    const page = Buffer.alloc(4096)
    page[0] = 13
    page.writeUInt16BE(4000, 1)
    page.writeUInt16BE(4000, 5)
    page.writeUInt16BE(4000, 4000)
    expect(() => readTreePage(page, false, 4096)).toThrow(UnreadablePageError)
  })
})

function expectWiped(path: string, written: readonly Step[], pageSize: number): void {
  const db = Connection.open(path)
  try {
    db.execute(`PRAGMA page_size = ${pageSize}; CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT);
      CREATE INDEX t_by_body ON t (body); CREATE TABLE u (body TEXT PRIMARY KEY) WITHOUT ROWID`)
    for (const [i, { id, length }] of written.entries()) {
      const body = `${marker('gone', i)}:${'z'.repeat(length)}:${marker('tail', i)}`
      db.run('INSERT OR REPLACE INTO t (id, body) VALUES (?, ?)', id, body)
      db.run('INSERT OR IGNORE INTO u (body) VALUES (?)', body)
      if (i % 3 === 0) db.run('DELETE FROM u WHERE body IN (SELECT body FROM t WHERE id = ?)', id)
    }
    db.run('DELETE FROM t WHERE id % 4 = 0')
    const read = () => [
      db.all('SELECT * FROM t ORDER BY id'),
      db.all('SELECT body FROM t ORDER BY body'),
      db.all('SELECT * FROM u'),
    ]
    const before = read()
    for (let page: number | null = 1; page !== null; ) page = wipePages(db, page)
    expect(read()).toEqual(before)
    expect(db.get('PRAGMA integrity_check(1)')?.integrity_check).toBe('ok')
    const file = readFileSync(path, 'latin1')
    const inUse = JSON.stringify(before)
    const gone = written
      .flatMap((_, i) => [marker('gone', i), marker('tail', i)])
      .filter((text) => !inUse.includes(`${text}`))
    expect(gone.filter((text) => file.includes(`${text}:`) || file.includes(`:${text}`))).toEqual([])
  } finally {
    db.close()
  }
}
