/**
 * Loaded before the shipped program (`node --import`): a commit of the embedded store takes as long as the file `HELD_WHILE`
 * exists, as on a machine whose disk is starved. The first one makes the file `HELD_WHILE` + `.reached`. With `FAILING` it fails then.
 * A commit that waits says so each `WAIT_MS`, which is also how long a caller waits for the store. For tests only.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailableError } from '#server/ports/store/errors'

const { SqliteStore } = await import('../../dist/stores/sqlite/sqlite-store.js')
const { WAITS } = await import('../../dist/waits.js')
const { HELD_WHILE, FAILING, WAIT_MS } = process.env
WAITS.reportEveryMs = Number(WAIT_MS)
WAITS.storeDeadlineMs = Number(WAIT_MS)
const { commit } = SqliteStore.prototype

SqliteStore.prototype.commit = async function (mutations) {
  writeFileSync(`${HELD_WHILE}.reached`, '')
  while (existsSync(HELD_WHILE)) await pause(10)
  if (FAILING) throw new StoreUnavailableError('The store could not write: database or disk is full.')
  return commit.call(this, mutations)
}
