import { join } from 'node:path'
import { type Config, readConfig } from '../config.js'
import { statIfThere } from '../durable-files/stat-if-there.js'
import { failure } from './exit.js'

/**
 * The settings of the server that a command works on. With a mistyped DATA_DIR a command would create a useless key; as
 * another user it would write files that the server cannot read.
 *
 * @throws CommandError when there are no data of a server, or when they belong to another user
 */
export function serverData(): Config {
  const config = readConfig(process.env)
  if (config.mongodbUrl === null) assertOwnData(config.dataDir)
  return config
}

/** @throws CommandError when there is no embedded store, or when it belongs to another user */
export function assertOwnData(dataDir: string): void {
  const data = statIfThere(join(dataDir, 'countersign.db'))
  if (data === undefined)
    throw failure(
      `There is no server data in ${dataDir}. Set DATA_DIR to the server's data directory, or start the server.`,
    )
  if (process.getuid !== undefined && data.uid !== process.getuid())
    throw failure(`The data in ${dataDir} belongs to the user with number ${data.uid}. Run the command as that user.`)
}
