interface Place {
  readonly pathname: string
  readonly search: object
}

/** Which draft a URL shows. Another tab of the page is the same draft. */
export function draftAt({ pathname, search }: Place): string {
  const { for: decision, copy, revision }: { readonly [name: string]: unknown } = { ...search }
  return JSON.stringify([pathname, decision, copy, revision])
}
