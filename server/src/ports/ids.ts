type IdPrefix = 'dec' | 'pol' | 'agt' | 'key' | 'aud' | 'req'

/** Makes ids: `<prefix>_` and 26 characters (TypeID over UUIDv7), so that text order is the order in which they were made. */
export interface Ids {
  next(prefix: IdPrefix): string
}
