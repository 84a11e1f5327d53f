interface Place {
  readonly pathname: string
  readonly search: object
}

/** Identifies the draft of a URL. All tabs of a page share one draft. */
export function draftAt({ pathname, search }: Place): string {
  const { for: decision, copy, revision }: { readonly [name: string]: unknown } = { ...search }
  return JSON.stringify([pathname, decision, copy, revision])
}
