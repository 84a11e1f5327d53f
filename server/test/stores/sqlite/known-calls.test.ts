import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Connection } from '#server/stores/sqlite/driver'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { createOf, decisionOf, idempotencyOf, idOf, instant, LogPen } from '../../store-suite/index.js'

it('finds the record of a call that was written after all names were read', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-store-'))
  const store = await openSqliteStore({ dataDir })
  const pen = await LogPen.of(store)
  const other = Connection.open(join(dataDir, 'countersign.db'))
  other.execute('PRAGMA busy_timeout = 5000')
  // What another program writes is found as long as the database is asked.
  const isAsked = async (number: number) => {
    const { key_id, operation, key } = idempotencyOf('', { key: `written by another program ${number}` })
    other.run(
      `INSERT INTO idempotency (key_id, operation, key, fingerprint, status, subject, created_ms, expires_ms)
       VALUES (?, ?, ?, '', 200, '', 0, ?)`,
      key_id,
      operation,
      key,
      Date.parse(instant(9)),
    )
    return (await store.idempotency.get({ key_id, operation, key }, instant(1))) !== null
  }
  let number = 0
  await expect.poll(() => isAsked(number++), { interval: 5, timeout: 10_000 }).toBe(false)
  other.close()

  const record = idempotencyOf(idOf('dec', 1))
  expect(await store.idempotency.get(record, instant(1))).toBeNull()
  await pen.commit({ change: createOf(decisionOf(1)), idempotency: record })
  expect(await store.idempotency.get(record, instant(1))).toEqual(record)
  await store.close()
  rmSync(dataDir, { recursive: true })
})
