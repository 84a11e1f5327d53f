type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** The filters that the caller gave, without absent parameters. */
export function givenFilters<T extends object>(filters: T): Present<T> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined)) as Present<T>
}
