import { CommandError, EXIT } from './exit.js'

/** A server, and the key with which a command calls it. */
export interface ServerAccess {
  readonly baseUrl: string
  readonly apiKey: string
}

const DEFAULT_URL = 'http://127.0.0.1:8787'

/**
 * @param url that the command line names
 * @param scope that the key needs, for the error
 * @throws CommandError without a key
 */
export function serverAccess(url: string | undefined, scope: string): ServerAccess {
  const apiKey = process.env.COUNTERSIGN_API_KEY
  if (!apiKey) throw new CommandError(EXIT.config, `Set COUNTERSIGN_API_KEY to an API key with the scope ${scope}.`)
  return { apiKey, baseUrl: url ?? (process.env.COUNTERSIGN_URL || DEFAULT_URL) }
}
