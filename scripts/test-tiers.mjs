/**
 * Which tier runs a test file: `npm test` the quick ones, `npm run test:slow` the slow ones, `npm run test:browser` those of
 * pages, `npm run test:mongodb` these.
 */

/** What takes long and seldom finds what another test does not: `npm run torture` runs it, and no tier. */
export const ONLY_IN_TORTURE = [
  'integrations/*/test/package.slow.test.ts',
  'integrations/mcp/test/proxy-load.slow.test.ts',
  'packages/client/test/mutations.slow.test.ts',
  'packages/client/test/package.slow.test.ts',
  'packages/client/test/verify-guard.slow.test.ts',
  'packages/engine/test/memory.slow.test.ts',
  'packages/engine/test/mutants.slow.test.ts',
  'scripts/likely-mistakes.slow.test.ts',
  'server/test/ferretdb/kill.test.ts',
  'server/test/process/audit-busy-server.slow.test.ts',
  'server/test/process/changes-no-byte.slow.test.ts',
  'server/test/process/locked-by-another.slow.test.ts',
  'server/test/process/runbook-keys-copied.slow.test.ts',
  'server/test/process/runbook-oldest-store.slow.test.ts',
  'server/test/process/runbook-restore.slow.test.ts',
  'server/test/process/runbook-rewritten-log.slow.test.ts',
  'server/test/process/starved-start.slow.test.ts',
]

/** What is about MongoDB runs on it alone. */
export const ONLY_ON_MONGODB = ['server/test/stores/mongodb/**/*.test.ts', 'server/test/mongodb/**/*.test.ts']

/** `npm run test:ferretdb` runs it, in a workflow and in `npm run torture`, and no tier: building FerretDB takes a minute or two. */
export const ON_FERRETDB = ['server/test/ferretdb/**/*.test.ts']

/** Its clients of banks, databases and queues have a lock file of their own: only the tiers that run it install them. */
export const LOST_ANSWERS = 'tools/lost-answers'

/**
 * What a caller can see of the store runs on both stores: the API, enforcement, and what pauses or ends later. What else
 * integrations do is about their frameworks.
 */
export const ALSO_ON_MONGODB = [
  'server/test/api/**/*.test.ts',
  'server/test/specification.test.ts',
  '**/test/**/enforcement-suite.test.ts',
  'server/test/enforcement/pausing.test.ts',
  'server/test/enforcement/repeated-reviews.test.ts',
  'tools/lost-answers/test/five-refunds.slow.test.ts',
  'server/test/process/log-faults-are-named.slow.test.ts',
]

/** What is about routes, connections, headers, bodies, commands, faults of any store, the engine alone or what the suite of stores covers. */
export const NOT_ON_MONGODB = [
  'server/test/api/audit-verify.slow.test.ts',
  'server/test/api/audit-witness.slow.test.ts',
  'server/test/api/budget-faults.test.ts',
  'server/test/api/doors.test.ts',
  'server/test/api/erased-requests-shown.test.ts',
  'server/test/api/evaluation-limit.slow.test.ts',
  'server/test/api/every-route.test.ts',
  'server/test/api/faults-of-others.test.ts',
  'server/test/api/faults.test.ts',
  'server/test/api/headers.test.ts',
  'server/test/api/hostile-bodies.test.ts',
  'server/test/api/openapi.test.ts',
  'server/test/api/pipelined-requests.test.ts',
  'server/test/api/rate-limit.test.ts',
  'server/test/api/raw-http.slow.test.ts',
  'server/test/api/restored-root.slow.test.ts',
  'server/test/api/retention.slow.test.ts',
  'server/test/api/strict-json.test.ts',
  'server/test/api/settle-storm.slow.test.ts',
  'server/test/api/stats.slow.test.ts',
  'server/test/api/unread-answers.slow.test.ts',
  'server/test/api/webhook-deliveries.slow.test.ts',
  'server/test/api/webhooks.test.ts',
]

/** What the embedded store shows on every push, and takes long on MongoDB: only `npm run torture` runs it there. */
export const ONLY_IN_TORTURE_ON_MONGODB = [
  'server/test/api/audit-records-places.slow.test.ts',
  'server/test/api/audit-records-upgrade.slow.test.ts',
  'server/test/api/damaged-sweeps.slow.test.ts',
  'server/test/api/long-calls.slow.test.ts',
  'server/test/api/many-budgets.slow.test.ts',
  'server/test/api/pagination.slow.test.ts',
  'server/test/api/request-retention.slow.test.ts',
  'server/test/process/log-faults-are-named.slow.test.ts',
]

/** The API answers the same through an application of Express: what is about headers, paths, bodies, streams and every route. */
export const ALSO_IN_EXPRESS = [
  'server/test/api/doors.test.ts',
  'server/test/api/events.test.ts',
  'server/test/api/every-route.test.ts',
  'server/test/api/headers.test.ts',
  'server/test/api/hostile-bodies.test.ts',
  'server/test/api/rate-limit.test.ts',
  'server/test/api/strict-json.test.ts',
]

/**
 * The tiers of a file.
 * @param {string} file below the root, with forward slashes
 * @returns {('quick' | 'slow' | 'browser' | 'mongodb')[]} none: `.ci/run` does not run it
 */
export function tiersOf(file) {
  if (isOneOf([...ONLY_IN_TORTURE, ...ON_FERRETDB], file)) return []
  if (file.endsWith('.browser.test.ts')) return ['browser']
  if (isOneOf(ONLY_ON_MONGODB, file)) return ['mongodb']
  /** @type {('quick' | 'slow' | 'mongodb')[]} */
  const tiers = [file.endsWith('.slow.test.ts') ? 'slow' : 'quick']
  if (isOneOf(ALSO_IN_EXPRESS, file)) tiers.push('slow')
  const notThere = [...NOT_ON_MONGODB, ...ONLY_IN_TORTURE_ON_MONGODB]
  if (isOneOf(ALSO_ON_MONGODB, file) && !isOneOf(notThere, file)) tiers.push('mongodb')
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
