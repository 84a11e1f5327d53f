export const DEFAULT_DATABASE = 'countersign'

/** Where a URL leads, without the credentials and options that it holds. */
export interface MongoAddress {
  readonly hosts: string
  readonly database: string
}

/** Null for what is no URL of MongoDB. */
export function readMongoUrl(url: string): MongoAddress | null {
  const parts = /^mongodb(?:\+srv)?:\/\/(?:[^@/?]*@)?([^@/?\s]+)(?:\/([^?\s]*))?(?:\?\S*)?$/.exec(url)
  if (parts === null) return null
  const [, hosts = '', database = ''] = parts
  return { hosts, database: decodeURIComponent(database) || DEFAULT_DATABASE }
}
