import { createRequire } from 'node:module'

// Loaded only when a URL is given: the driver takes longer to load than anything else, and the embedded store does not
// need it.
const loadDriver = (): typeof import('mongodb') => createRequire(import.meta.url)('mongodb')

const DEFAULT_DATABASE = 'countersign'

/** The target of a URL, without its credentials and options. */
interface MongoAddress {
  readonly hosts: string
  readonly database: string
}

/** Null for a URL that cannot be read. */
export function readMongoUrl(url: string): MongoAddress | null {
  const parts = /^mongodb(?:\+srv)?:\/\/(?:[^@/?]*@)?([^@/?\s]+)(?:\/([^?\s]*))?(?:\?\S*)?$/.exec(url)
  if (parts === null) return null
  const [, hosts = '', database = ''] = parts
  try {
    return { hosts, database: decodeURIComponent(database) || DEFAULT_DATABASE }
  } catch {
    return null
  }
}

/** `hosts/database`, for people. */
export function addressOf(url: string): string {
  const address = readMongoUrl(url)
  return address === null ? 'MONGODB_URL' : `${address.hosts}/${address.database}`
}

/** The rule for database names; the driver accepts more than the server. */
const NAME = /^[^/\\. "$*<>:|?\0]{1,63}$/

/**
 * Returns why the driver cannot use a URL, as text that follows its name in a sentence. Null when it can. Repeats no
 * part of the URL nor the driver's message: where the password is not encoded, any part may belong to the password.
 */
export function faultOfMongoUrl(url: string): string | null {
  if (!/^mongodb(\+srv)?:\/\//.test(url))
    return 'must start with mongodb:// or mongodb+srv://. Unset it to use the embedded store in DATA_DIR.'
  const address = readMongoUrl(url)
  if (address === null || !isTakenByDriver(url))
    return 'is not a usable URL. Percent-encode the user and the password (encodeURIComponent), and check the hosts and options.'
  if (!NAME.test(address.database)) return 'contains a database name that MongoDB does not allow.'
  return null
}

function isTakenByDriver(url: string): boolean {
  try {
    const { MongoClient } = loadDriver()
    // The client connects with its first command.
    new MongoClient(url)
    return true
  } catch {
    return false
  }
}
