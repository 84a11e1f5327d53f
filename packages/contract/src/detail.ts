/** What a problem says about a faulty place. Reads after the place's name: "/action is missing". */

const MISSING = 'is missing'

/** The error text of a schema: `text`, or that the member is missing. */
export function orMissing(text: string): (issue: { readonly input?: unknown }) => string {
  return (issue) => (issue.input === undefined ? MISSING : text)
}
