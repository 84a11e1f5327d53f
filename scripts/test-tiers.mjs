/** Which tier runs a test file: `npm test` the quick ones, `npm run test:slow` the slow ones, `npm run test:mongodb` these. */

/** What is about MongoDB runs on it alone. */
export const ONLY_ON_MONGODB = ['packages/store-mongodb/test/**/*.test.ts', 'server/test/mongodb/**/*.test.ts']

/** What a caller can see of the store runs on both stores: the API, enforcement, and what pauses or ends later. */
export const ALSO_ON_MONGODB = [
  'server/test/api/**/*.test.ts',
  'server/test/specification.test.ts',
  '**/test/**/enforcement-suite.test.ts',
  'server/test/enforcement/pausing.test.ts',
  'server/test/enforcement/repeated-reviews.test.ts',
  'integrations/langchain/test/agents.test.ts',
  'integrations/mcp/test/call-keys.test.ts',
  'integrations/mcp/test/elicitation.test.ts',
  'integrations/mcp/test/gate.test.ts',
  'integrations/mcp/test/required-input.test.ts',
  'integrations/mcp/test/tasks.test.ts',
  'packages/lost-answers/test/five-refunds.test.ts',
]

/** The API answers the same through an application of Express. What is about connections needs the server's own door. */
export const ALSO_IN_EXPRESS = ['server/test/api/**/*.test.ts']
export const NOT_IN_EXPRESS = [
  '**/*.slow.test.ts',
  'server/test/api/connections.test.ts',
  'server/test/api/pipelined-requests.test.ts',
]

/**
 * The tiers of a file, one to three.
 * @param {string} file below the root, with forward slashes
 * @returns {('quick' | 'slow' | 'mongodb')[]}
 */
export function tiersOf(file) {
  if (isOneOf(ONLY_ON_MONGODB, file)) return ['mongodb']
  /** @type {('quick' | 'slow' | 'mongodb')[]} */
  const tiers = [file.endsWith('.slow.test.ts') ? 'slow' : 'quick']
  if (isOneOf(ALSO_IN_EXPRESS, file) && !isOneOf(NOT_IN_EXPRESS, file)) tiers.push('slow')
  if (isOneOf(ALSO_ON_MONGODB, file)) tiers.push('mongodb')
  return tiers
}

/**
 * @param {string[]} globs of names, `*` and `**` + `/`
 * @param {string} file
 */
function isOneOf(globs, file) {
  return globs.some((glob) => {
    const pattern = glob
      .replaceAll('.', '\\.')
      .replaceAll('**/', '\0')
      .replaceAll('*', '[^/]*')
      .replaceAll('\0', '(.*/)?')
    return new RegExp(`^${pattern}$`).test(file)
  })
}
