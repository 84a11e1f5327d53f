import { findKeyring } from '../../adapters/keyring/keyring.js'
import { systemClock } from '../../adapters/system-clock.js'
import { DataDirectoryInUseError } from '../../stores/sqlite/data-directory.js'
import { openSqliteStore } from '../../stores/sqlite/open.js'
import { findLostEntry } from '../../use-cases/signing-keys/lost-entries.js'
import { failure, writeNotice } from '../exit.js'
import { assertOwnData } from '../server-data.js'

export type Source = Awaited<ReturnType<typeof openSqliteStore>>

/**
 * Opens the embedded store, which no server uses.
 *
 * @throws CommandError, and the errors of a store that cannot be opened
 */
export async function openSource(dataDir: string): Promise<Source> {
  assertOwnData(dataDir)
  try {
    return await openSqliteStore({ dataDir, mayBeNew: false, mayBeMoved: true })
  } catch (error) {
    if (!(error instanceof DataDirectoryInUseError)) throw error
    throw failure(`A server is using the data in ${dataDir}. Stop it first.`)
  }
}

/**
 * Checks that the store has everything that the signing keys remember, and that its log can be continued. Call it before a move
 * begins: a store that was moved lacks what was written since.
 *
 * @throws CommandError, LostEntriesError
 */
export async function assertComplete(source: Source, dataDir: string): Promise<void> {
  if (await source.isRestored())
    throw failure(`The data in ${dataDir} were restored. Start the server once without MONGODB_URL, and stop it.`)
  const keyring = await findKeyring({ dataDir, clock: systemClock() })
  const log = { warn: (fields: object, msg: string) => writeNotice('warn', msg, fields) }
  if (keyring !== null) await findLostEntry({ memory: keyring, store: source, log }, false)
}
