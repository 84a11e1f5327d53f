type IdPrefix = 'dec' | 'pol' | 'agt' | 'key' | 'whk' | 'dlv' | 'evt' | 'aud' | 'req'

export interface Ids {
  /** A new id: `<prefix>_` and 26 characters (TypeID over UUIDv7). Ids sort by the time of their creation. */
  next(prefix: IdPrefix): string
  /** 16 random bytes in base64url, never used twice. */
  salt(): string
}
