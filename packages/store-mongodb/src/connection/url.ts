import { createRequire } from 'node:module'

// Only where a URL is given: the driver takes longer to load than all else, and the embedded store needs none.
const loadDriver = (): typeof import('mongodb') => createRequire(import.meta.url)('mongodb')

const DEFAULT_DATABASE = 'countersign'

/** Where a URL leads, without the credentials and options that it holds. */
interface MongoAddress {
  readonly hosts: string
  readonly database: string
}

/** Null for what cannot be read. */
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

/** Of a database; the driver takes more than the server. */
const NAME = /^[^/\\. "$*<>:|?\0]{1,63}$/

/**
 * Why the driver cannot use a URL: what follows its name in a sentence. Null when it can. Repeats no part of the URL and not
 * the driver's message either: where the password is not encoded, any part may belong to the password.
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
    // It connects with the first command.
    new MongoClient(url)
    return true
  } catch {
    return false
  }
}
