/** Brings a database to the present schema, in a thread of its own: when it has ended, its connection is closed. */
import { fsyncSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { Connection, sqliteCode } from './driver.js'
import { configureWriter, migrate } from './schema.js'
import { withFile } from './wal-file.js'

/** What the thread could not do; null is told when all is done. */
export interface Failure {
  readonly message: string
  readonly code: string | undefined
}

const path = workerData as string
parentPort?.postMessage(migrated())

function migrated(): Failure | null {
  try {
    const db = Connection.open(path)
    try {
      configureWriter(db)
      migrate(db)
      db.get('PRAGMA wal_checkpoint(PASSIVE)')
      // Whoever closes last removes the log. After a loss of power its index must not tell of frames that are copied already.
      withFile(`${path}-shm`, fsyncSync)
      return null
    } finally {
      db.close()
    }
  } catch (error) {
    return { message: error instanceof Error ? error.message : String(error), code: sqliteCode(error) }
  }
}
