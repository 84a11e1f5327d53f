import { describe, expect, it } from 'vitest'
import { repositoryFiles } from './repository-files.js'
import { ALSO_IN_EXPRESS, ALSO_ON_MONGODB, NOT_ON_MONGODB, tiersOf } from './test-tiers.mjs'

describe('the tiers of a test file', () => {
  it.each([
    ['packages/engine/test/agreement.test.ts', ['quick']],
    ['server/test/stores/sqlite/rows.test.ts', ['quick']],
    ['packages/engine/test/mutants.slow.test.ts', []],
    ['packages/engine/test/random.slow.test.ts', ['slow']],
    ['server/test/mongodb/start.test.ts', ['mongodb']],
    ['server/test/ferretdb/store.test.ts', []],
    ['server/test/mongodb/replicas/kill.test.ts', ['mongodb']],
    ['server/test/stores/mongodb/relay.test.ts', ['mongodb']],
    ['server/src/stores/mongodb/retry.test.ts', ['quick']],
    ['server/test/api/keys.test.ts', ['quick', 'mongodb']],
    ['server/test/api/events.test.ts', ['quick', 'slow', 'mongodb']],
    ['packages/dashboard/test/overview.browser.test.ts', ['browser']],
    ['server/test/api/strict-json.test.ts', ['quick', 'slow']],
    ['server/test/api/connections.test.ts', ['quick', 'mongodb']],
    ['server/test/api/ledger-model.slow.test.ts', ['slow', 'mongodb']],
    ['server/test/enforcement/enforcement-suite.test.ts', ['quick', 'mongodb']],
    ['integrations/mcp/test/enforcement-suite.test.ts', ['quick', 'mongodb']],
    ['integrations/mcp/test/gate.test.ts', ['quick']],
    ['integrations/mcp/test/enforcement-suite.slow.test.ts', ['slow']],
  ])('%s: %j', (file, tiers) => {
    expect(tiersOf(file)).toEqual(tiers)
  })

  it('name no file that is gone', () => {
    const named = [...ALSO_ON_MONGODB, ...NOT_ON_MONGODB, ...ALSO_IN_EXPRESS].filter((glob) => !glob.includes('*'))
    expect(repositoryFiles).toEqual(expect.arrayContaining(named))
  })
})
