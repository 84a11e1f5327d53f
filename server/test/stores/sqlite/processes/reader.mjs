/** Reads a store once, as a backup does, and keeps its connection until it is killed. Argument: data directory. */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { Connection } from '#server/stores/sqlite/driver'

const db = Connection.openReadOnly(join(process.argv[2], 'countersign.db'))
db.get('SELECT count(*) FROM decisions')
writeSync(1, 'read\n')
setInterval(() => db.get('SELECT 1 FROM meta LIMIT 1'), 2 ** 30)
