import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { rememberRestore } from '../adapters/checkpoint-memory/checkpoint-file.js'
import { type Config, readConfig } from '../config.js'
import { backUpStore } from '../stores/sqlite/backup.js'
import { restoreStore, UnusableBackupError } from '../stores/sqlite/restore.js'
import { EXIT, failure } from './exit.js'
import { serverData } from './server-data.js'

/** Copies the embedded store into a new file, whether the server runs or not. */
export async function backup(file: string): Promise<number> {
  const { dataDir } = embedded(serverData())
  const path = resolve(file)
  await backUpStore(join(dataDir, 'countersign.db'), path)
  process.stdout.write(
    `Backed up to ${path} (${statSync(path).size} bytes). It does not contain the signing keys: ` +
      `back up ${join(dataDir, 'signing-keys.json')} in another place.\n`,
  )
  return EXIT.ok
}

/** Restores a backup into an empty data directory. Start the server afterwards. */
export async function restore(file: string): Promise<number> {
  const { dataDir } = embedded(readConfig(process.env))
  await restoreStore(resolve(file), dataDir).catch((cause: unknown) => {
    if (!(cause instanceof UnusableBackupError)) throw cause
    throw failure(`${cause.message} Nothing was restored.`, cause)
  })
  await rememberRestore(dataDir)
  process.stdout.write(
    `Restored into ${dataDir}. Put signing-keys.json beside it before you start the server. Without it the server ` +
      'creates new keys, and earlier permits no longer verify.\n',
  )
  return EXIT.ok
}

function embedded(config: Config): Config {
  if (config.mongodbUrl === null) return config
  throw failure('With MONGODB_URL the data are on MongoDB. Use its tools, such as mongodump or snapshots.')
}
