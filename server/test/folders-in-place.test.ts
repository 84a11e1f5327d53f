/** A folder where the data directory keeps a file: the server does not start, and says which, and what to do. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readConfig } from '#server/config'
import { start } from '#server/start'
import { TestClock } from './running-server.js'

const silent = { info: () => {}, warn: () => {}, error: () => {} }

it.each([
  ...['countersign.db', 'countersign.db-wal', 'countersign.db-shm', 'countersign.db-sums'],
  ...['lock', 'signing-keys.json', 'signing-keys.json.lock', 'bootstrap-key'],
])('%s', async (name) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-folders-'))
  mkdirSync(join(dataDir, name))
  const config = readConfig({ PORT: '0', DATA_DIR: dataDir })
  await expect(start(config, { clock: new TestClock(), log: silent })).rejects.toThrow(
    `${join(dataDir, name)} is a directory, but must be a file. Move it away, or set DATA_DIR to another directory.`,
  )
  expect(readdirSync(join(dataDir, name))).toEqual([])
  rmSync(dataDir, { recursive: true })
})
