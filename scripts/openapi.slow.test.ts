/** The OpenAPI document as the tools of others see it: a linter, and a generator of clients. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import { afterAll, expect, it } from 'vitest'
import { systemClock } from '../server/dist/adapters/system-clock.js'
import { readConfig, start } from '../server/dist/index.js'
import { readText } from './repository-files.js'

/** As the server answers it: `generate-api-reference.mjs --check` holds it to that. */
const DOCUMENT = readText('docs/reference/openapi.json')
const KEY = 'a-key-for-the-generated-client-of-43-letters'

/** OpenAPI 3.1 cannot refer to the schemas of the events or lines in a stream: only a description names them. */
const NAMED_BY_STREAMS = ['LiveEvent', 'ExportedCheckpoint', 'ExportProblem'].map(
  (schema) => `Component: "${schema}" is never used.`,
)
/** No id of a policy is `by-name`: ids start with `pol_`. */
const TOLD_APART_BY_IDS = ['revisions', 'budget'].map(
  (part) =>
    `Paths should resolve unambiguously. Found two ambiguous paths: \`/v1/policies/by-name/{name}\` and \`/v1/policies/{id}/${part}\`.`,
)
const MEANT: readonly string[] = [...NAMED_BY_STREAMS, ...TOLD_APART_BY_IDS]

/** In here, so that what is compiled finds the packages. */
const folder = mkdtempSync(fileURLToPath(new URL('../node_modules/.generated-client-', import.meta.url)))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function lint(source: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  const meant = problems.filter(({ message }) => !MEANT.includes(message))
  return meant.map(({ ruleId, message, location }) => `${ruleId} at ${location[0]?.pointer}: ${message}`)
}

it('has nothing to find for the linter with its recommended rules', async () => {
  expect(await lint(DOCUMENT)).toEqual([])
  const { servers, ...without } = JSON.parse(DOCUMENT)
  expect(servers).toHaveLength(1)
  expect(await lint(JSON.stringify(without))).toEqual([expect.stringContaining('no-empty-servers')])
})

/** Compiles the smoke test beside the generated types, in strict mode, and says what is wrong. */
function compile(): string[] {
  const program = ts.createProgram([join(folder, 'smoke.ts')], {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noEmitOnError: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    types: [],
  })
  program.emit()
  return ts.getPreEmitDiagnostics(program).map(({ file, start: at, messageText }) => {
    const line = file && at !== undefined ? file.getLineAndCharacterOfPosition(at).line + 1 : ''
    return `${file?.fileName.slice(folder.length + 1)}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}

it('gives a client that compiles in strict mode and works', async () => {
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(folder, 'api.ts'), astToString(await openapiTS(DOCUMENT)))
  writeFileSync(
    join(folder, 'smoke.ts'),
    readFileSync(new URL('fixtures/generated-client/smoke.ts', import.meta.url), 'utf8'),
  )
  expect(compile()).toEqual([])

  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-client-'))
  const log = { info() {}, warn() {}, error() {} }
  const config = readConfig({ PORT: '0', DATA_DIR: dataDir, COUNTERSIGN_BOOTSTRAP_KEY: KEY })
  const started = await start(config, { clock: systemClock(), log })
  try {
    const { smoke } = await import(pathToFileURL(join(folder, 'smoke.js')).href)
    expect(await smoke(started.url, KEY)).toEqual({
      effect: 'allow',
      hasPermit: true,
      committed: 40,
      status: 'confirmed',
      listed: [true],
      stale: 'revision_mismatch',
      deleted: 204,
    })
  } finally {
    await started.stop(0)
    rmSync(dataDir, { recursive: true, force: true })
  }
})
