import { join } from 'node:path'
import { statIfThere } from '@countersign/durable-files'
import { type Config, readConfig } from '../config.js'

/**
 * The settings of the server that a command works on. A mistyped one would give a key that opens nothing, and files
 * of another user would keep the server from reading its own.
 *
 * @throws Error when no server has data there, or that of another user
 */
export function serverData(): Config {
  const config = readConfig(process.env)
  const { dataDir } = config
  if (config.mongodbUrl !== null) return config
  const data = statIfThere(join(dataDir, 'countersign.db'))
  if (data === undefined)
    throw new Error(
      `There is no data of a server in ${dataDir}. Set DATA_DIR to the server's own, or start the server.`,
    )
  if (process.getuid !== undefined && data.uid !== process.getuid())
    throw new Error(`The data in ${dataDir} belongs to the user with number ${data.uid}. Run this as that user.`)
  return config
}
