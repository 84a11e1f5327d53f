type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** The filters that were given: an absent parameter is no filter, not one for nothing. */
export function givenFilters<T extends object>(filters: T): Present<T> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined)) as Present<T>
}
