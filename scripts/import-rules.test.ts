import { describe, expect, it } from 'vitest'
import { IMPORT_RULES, importFaults } from './import-rules.js'
import { readText, repositoryFiles } from './repository-files.js'

const shipped = repositoryFiles.filter(
  (path) => /^(.*\/src\/|examples\/).*\.(ts|tsx|mjs)$/.test(path) && !path.endsWith('.test.ts'),
)

describe('who imports whom', () => {
  it('is as the rules say, in every file that ships', () => {
    expect(shipped.length).toBeGreaterThan(100)
    const files = shipped.map((path) => ({ path, text: readText(path) }))
    expect(importFaults(files, IMPORT_RULES)).toEqual([])
  })

  it('lets the suite of every store know only the port', () => {
    const suite = repositoryFiles.filter((path) => path.startsWith('server/test/store-suite/'))
    expect(suite.length).toBeGreaterThan(20)
    const files = suite.map((path) => ({ path, text: readText(path) }))
    expect(importFaults(files, IMPORT_RULES)).toEqual([])
  })

  it('leaves the naive models of the tests without anything of the engine', () => {
    const evaluator = 'packages/engine/test/naive-evaluator'
    const budgets = 'packages/engine/test/naive-budgets'
    const rules = [
      { area: evaluator, mayImport: ['type @countersign/contract', 'node:net'] },
      { area: budgets, mayImport: ['type @countersign/contract', evaluator] },
    ]
    const files = [evaluator, budgets].map((area) => ({ path: `${area}.ts`, text: readText(`${area}.ts`) }))
    expect(importFaults(files, rules)).toEqual([])
  })
})

describe('an import that no rule allows', () => {
  it.each([
    ['server/src/http/routes/decisions.ts', "import { open } from '#server/stores/sqlite/open'"],
    ['server/src/http/routes/decisions.ts', "import { open } from '../../stores/mongodb/open.js'"],
    ['server/src/use-cases/decisions/decide.ts', "import { commit } from '../../stores/sqlite/commit.js'"],
    ['server/src/state/keys.ts', "import { open } from '../stores/sqlite/open.js'"],
    ['server/src/feed/feed.ts', "import { open } from '../stores/sqlite/open-feed.js'"],
    ['server/src/mutation-writer.ts', "import { open } from '../stores/sqlite/open.js'"],
    ['server/src/config.ts', "import { open } from './stores/mongodb/open.js'"],
    ['server/src/compose/store.ts', "import { SqliteStore } from '../stores/sqlite/sqlite-store.js'"],
    ['server/src/stores/sqlite/commit.ts', "import { fence } from '../mongodb/collections/fences.js'"],
    ['server/src/stores/mongodb/open.ts', "import { replaceFile } from '../../durable-files/replace-file.js'"],
    ['server/src/stores/mongodb/open.ts', "import { poll } from '../../state/keys.js'"],
    ['server/src/stores/sqlite/open.ts', "import type { Clock } from '../../ports/clock.js'"],
    ['server/src/stores/sqlite/open.ts', "import { poll } from '../../concurrency/poll.js'"],
    ['server/src/concurrency/poll.ts', "import type { Store } from '../ports/store/store.js'"],
    ['server/src/durable-files/make-file.ts', "import { poll } from '../concurrency/poll.js'"],
    ['packages/dashboard/src/pages/audit/audit-page.tsx', "import { leafHash } from '@countersign/audit-log'"],
    ['server/src/http/api.ts', "import { evaluate } from '@countersign/engine'"],
    ['server/src/use-cases/keys/create.ts', "import type { Reply } from '../../http/reply.js'"],
    ['server/src/use-cases/keys/create.ts', "import express from 'express'"],
    ['server/src/ports/clock.ts', "import Database from 'libsql'"],
    ['server/src/adapters/keyring/keyring.ts', "import { open } from '../../stores/sqlite/open.js'"],
    ['server/src/adapters/keyring/keyring.ts', "import { decide } from '../../use-cases/decisions/decide.js'"],
    ['server/src/state/keys.ts', "import { compose } from '../compose/compose.js'"],
    ['server/src/compose/compose.ts', "import { main } from '../cli/main.js'"],
    ['server/src/ports/store/store.ts', "import type { Db } from 'mongodb'"],
    ['server/src/ports/store/store.ts', "import type { Clock } from '../clock.js'"],
    ['server/test/store-suite/commit.ts', "import { start } from '#server/start'"],
    ['server/test/store-suite/commit.ts', "import { open } from '#server/stores/sqlite/open'"],
    ['packages/testkit/src/until.ts', "import type { Store } from '@countersign/server'"],
    ['packages/testkit/src/enforcement-suite/rig.ts', "import { Countersign } from '@countersign/client'"],
    ['packages/engine/src/evaluate.ts', "import { readFileSync } from 'node:fs'"],
    ['packages/engine/src/evaluate.ts', "import '../../permit/src/mint.js'"],
    ['packages/contract/src/policy.ts', "import type { Compiled } from '@countersign/engine'"],
    ['packages/client/src/index.ts', "import { parse } from '@countersign/contract'"],
    ['packages/client/src/index.ts', "import { type Decision } from '@countersign/contract'"],
    ['packages/client/src/index.ts', "export * from '@countersign/contract'"],
    ['packages/client/src/index.ts', "const contract = await import('@countersign/contract')"],
    ['packages/client/src/retry.ts', "import { randomInt } from 'node:crypto'"],
    ['integrations/express/src/index.ts', "import { compose } from '@countersign/server'"],
    ['packages/client/src/guard.ts', "import { guard } from '@countersign/express'"],
    ['integrations/langchain/src/index.ts', "import { compose } from '@countersign/server'"],
    ['integrations/langchain/src/index.ts', "type Engine = import('@countersign/engine').Engine"],
    ['integrations/langchain/src/index.ts', "import { verifyPermit } from '@countersign/permit'"],
    ['integrations/mcp/src/server/gate.ts', "import { verifyPermit } from '@countersign/permit'"],
    ['integrations/mcp/src/server/gate.ts', "import type { McpServer } from '@modelcontextprotocol/server'"],
    ['integrations/mcp/src/proxy/serve.ts', "import { requestHash } from '@countersign/contract'"],
    ['integrations/langchain/src/index.ts', "import { guard } from '../../mcp/src/index.js'"],
    ['integrations/langchain/src/index.ts', "export { guard } from '@countersign/mcp'"],
    ['examples/quickstart/main.mjs', "import '../../server/src/compose/compose.js'"],
  ])('%s: %s', (path, text) => {
    expect(importFaults([{ path, text }], IMPORT_RULES)).toHaveLength(1)
  })

  it('is seen below other code too', () => {
    const text = "import { z } from 'zod'\n\nexport async function load() {\n  return import('node:fs')\n}\n"
    expect(importFaults([{ path: 'packages/contract/src/policy.ts', text }], IMPORT_RULES)).toEqual([
      'packages/contract/src/policy.ts must not import node:fs',
    ])
  })

  it('is each file of an area that the rules do not know', () => {
    expect(importFaults([{ path: 'server/src/helpers.ts', text: '' }], IMPORT_RULES)).toEqual([
      'server/src/helpers.ts is in no area of the import rules',
    ])
  })
})

describe('an import that a rule allows', () => {
  it.each([
    ['server/src/http/routes/decisions.ts', "import { decide } from '../../use-cases/decisions/decide.js'"],
    ['server/src/compose/store.ts', "import { open } from '../stores/sqlite/open.js'"],
    ['server/src/stores/sqlite/open.ts', "import type { Store } from '../../ports/store/store.js'"],
    ['server/src/adapters/keyring/keyring.ts', "import { readKeyFile } from './key-file.js'"],
    ['packages/client/src/index.ts', "import type { Decision } from '@countersign/contract'"],
    ['packages/client/src/index.ts', "export type { Decision } from '@countersign/contract'"],
    ['integrations/express/src/index.ts', "import { verifyPermit } from '@countersign/permit'"],
    ['integrations/langchain/src/index.ts', "import { tool } from '@langchain/core/tools'"],
    ['integrations/mcp/src/proxy/config.ts', "import { z } from 'zod'"],
    ['examples/mcp-server/server.mjs', "import { gate } from '@countersign/mcp'"],
  ])('%s: %s', (path, text) => {
    expect(importFaults([{ path, text }], IMPORT_RULES)).toEqual([])
  })
})
