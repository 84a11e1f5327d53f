/**
 * Leaves a store with a large log and dies, as if a reader had kept the log from being copied; with a second argument, opens
 * what it left and says `open`. Arguments: the data directory, anything.
 */
import { join } from 'node:path'
import { Connection } from '#server/stores/sqlite/driver'
import { openSqliteStore } from '#server/stores/sqlite/open'

const [dataDir, isSecond] = process.argv.slice(2)
const store = await openSqliteStore({ dataDir })
if (isSecond) {
  await store.close()
  console.log('open')
} else {
  await store.close()
  const db = Connection.open(join(dataDir, 'countersign.db'))
  db.execute('PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0')
  for (let i = 0; i < 12; i += 1) db.run('INSERT INTO meta (name, value) VALUES (?, ?)', `n${i}`, 'x'.repeat(4_000_000))
  process.kill(process.pid, 'SIGKILL')
}
