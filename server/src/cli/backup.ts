import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { backUpStore } from '@countersign/store-sqlite/backup'
import { restoreStore } from '@countersign/store-sqlite/restore'
import { type Config, readConfig } from '../config.js'
import { EXIT } from './exit.js'
import { serverData } from './server-data.js'

/** Copies the embedded store of a server, also of one that runs, into a new file. */
export async function backup(file: string): Promise<number> {
  const { dataDir } = embedded(serverData())
  const path = resolve(file)
  await backUpStore(join(dataDir, 'countersign.db'), path)
  process.stdout.write(
    `Backed up to ${path} (${statSync(path).size} bytes). The signing keys are not in it: keep ` +
      `${join(dataDir, 'signing-keys.json')} too, apart from it.\n`,
  )
  return EXIT.ok
}

/** Puts a backup into the empty data directory of a server that is to be started then. */
export async function restore(file: string): Promise<number> {
  const { dataDir } = embedded(readConfig(process.env))
  await restoreStore(resolve(file), dataDir)
  process.stdout.write(
    `Restored into ${dataDir}. Put signing-keys.json beside it before the server starts: without it, new keys are made ` +
      'and permits that were signed before verify no longer.\n',
  )
  return EXIT.ok
}

function embedded(config: Config): Config {
  if (config.mongodbUrl === null) return config
  throw new Error('With MONGODB_URL the data are on MongoDB: use its own tools, such as mongodump or snapshots.')
}
