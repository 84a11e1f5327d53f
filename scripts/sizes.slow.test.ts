/** How much a program loads that imports a package, as a bundler ships it: minified and compressed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'
import { ROOT, readText } from './repository-files.js'

interface Manifest {
  readonly dependencies?: object
  readonly peerDependencies?: object
}

interface Case {
  readonly of: string
  readonly program: string
  readonly folder: string
  /** Just above what it is today, in 1,000 bytes: a new dependency or a part that no longer falls away shows here. */
  readonly limit: number
}

const CASES: readonly Case[] = [
  {
    ...{ of: 'the client', folder: 'packages/client', limit: 30.5 },
    program: "export { Countersign } from '@countersign/client'",
  },
  {
    ...{ of: 'the client without enforcement and management', folder: 'packages/client', limit: 8 },
    program: "export { DecisionClient, isPermitted } from '@countersign/client/decisions'",
  },
  {
    ...{ of: 'the verifier of webhooks', folder: 'packages/client', limit: 3.6 },
    program: "export { verifyWebhook } from '@countersign/client/webhook'",
  },
  {
    ...{ of: 'a function of the client alone', folder: 'packages/client', limit: 0.25 },
    program: "export { isPermitted } from '@countersign/client'",
  },
  {
    ...{ of: 'the guard of Express', folder: 'integrations/express', limit: 9 },
    program: "export { guard, permitErrors } from '@countersign/express'",
  },
  {
    ...{ of: 'the guard of LangChain', folder: 'integrations/langchain', limit: 2.2 },
    program: "export { countersignGuard } from '@countersign/langchain'",
  },
  {
    ...{ of: 'the gate of MCP', folder: 'integrations/mcp', limit: 15 },
    program: "export { gate } from '@countersign/mcp'",
  },
]

it.each(CASES)('$of is at most $limit kB', async ({ program, folder, limit }) => {
  const bytes = await sizeOf(program, folder)
  console.log(`${program}: ${bytes} bytes`)
  expect(bytes).toBeLessThanOrEqual(limit * 1_000)
  // A limit that is far above says nothing.
  expect(bytes).toBeGreaterThan(limit * 800)
})

/** What it needs of other packages is not counted: a program has it once, whatever imports it. */
async function sizeOf(program: string, folder: string): Promise<number> {
  const { dependencies, peerDependencies } = JSON.parse(readText(`${folder}/package.json`)) as Manifest
  const others = Object.keys({ ...dependencies, ...peerDependencies }).map((name) => new RegExp(`^${name}(/|$)`))
  const temporary = mkdtempSync(join(tmpdir(), 'countersign-size-'))
  try {
    writeFileSync(join(temporary, 'program.js'), program)
    const bundle = await rolldown({
      input: join(temporary, 'program.js'),
      platform: folder === 'packages/client' ? 'browser' : 'node',
      external: [/^node:/, ...others],
      resolve: { modules: [join(ROOT, 'node_modules')] },
    })
    const { output } = await bundle.generate({ format: 'esm', minify: true })
    expect(output).toHaveLength(1)
    return gzipSync(output[0].code, { level: 9 }).length
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
