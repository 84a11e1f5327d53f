import { readConfig } from '../../config.js'
import { addressOf, faultOfMongoUrl } from '../../stores/mongodb/connection/url.js'
import { usageError } from '../exit.js'

export interface MoveSettings {
  readonly dataDir: string
  /** With credentials, so it is never shown. */
  readonly url: string
  readonly address: string
}

/** @throws CommandError, ConfigError */
export function moveSettings(to: string | undefined): MoveSettings {
  const { dataDir, mongodbUrl } = readConfig(to === undefined ? process.env : { ...process.env, MONGODB_URL: '' })
  const url = to ?? mongodbUrl
  if (url === null) throw usageError('Set MONGODB_URL to the database that gets the data, or name it with --to.')
  const fault = faultOfMongoUrl(url)
  if (fault !== null) throw usageError(`--to ${fault}`)
  return { dataDir, url, address: addressOf(url) }
}
