type IdPrefix = 'dec' | 'pol' | 'agt' | 'key' | 'aud' | 'req'

/** Generates ids: `<prefix>_` and 26 characters (TypeID over UUIDv7). They sort by the time of their creation. */
export interface Ids {
  next(prefix: IdPrefix): string
}
