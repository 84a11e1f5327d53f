import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { workspaces } from './freshness.mjs'
import { importsOf } from './import-rules.js'
import { ROOT, readText, repositoryFiles } from './repository-files.js'
import { circles, type Manifest, neededBy, undeclaredImports } from './workspace-imports.js'

const manifestOf = (folder: string) => JSON.parse(readText(`${folder}/package.json`)) as Manifest
const folders = workspaces(ROOT)

/** What a workspace ships or runs: its sources, and in an example or a benchmark every file. */
function filesOf(folder: string): string[] {
  const below = repositoryFiles.filter((path) => path.startsWith(`${folder}/`) && /\.(ts|tsx|mjs)$/.test(path))
  const sources = below.filter((path) => path.startsWith(`${folder}/src/`) && !path.endsWith('.test.ts'))
  return /^(examples\/|bench$)/.test(folder) ? below : sources
}

describe('every workspace', () => {
  const imports = new Map(folders.flatMap(filesOf).map((path) => [path, importsOf(path, readText(path))]))
  const importsBelow = (folder: string) => [...imports].filter(([path]) => path.startsWith(`${folder}/`))

  it('declares each package that it imports', () => {
    const faults = folders.flatMap((folder) =>
      importsBelow(folder).flatMap(([path, found]) => undeclaredImports(path, found, manifestOf(folder))),
    )
    expect(imports.size).toBeGreaterThan(300)
    expect(faults).toEqual([])
  })

  it('is built after what it depends on: there is no circle', () => {
    const needs = folders.map(manifestOf).map((manifest) => [manifest.name, neededBy(manifest)] as const)
    expect(circles(new Map(needs))).toEqual([])
  })

  it('has no file that imports itself by way of others; not for a type either', () => {
    const files = [...imports].map(
      ([path, found]) => [path, found.map(({ target }) => target.replace(/\.js(x?)$/, '.ts$1'))] as const,
    )
    expect(circles(new Map(files))).toEqual([])
  })

  it('names in tsconfig.json the workspaces whose types it reads, so that `tsc -b` builds them first', () => {
    const folderOf = new Map(folders.map((folder) => [manifestOf(folder).name, folder]))
    for (const folder of folders.filter((one) => repositoryFiles.includes(`${one}/tsconfig.json`))) {
      const { references = [] } = JSON.parse(readText(`${folder}/tsconfig.json`)) as { references?: { path: string }[] }
      const imported = importsBelow(folder)
        .flatMap(([, found]) => found)
        .flatMap(({ specifier }) => folderOf.get(/^@countersign\/[^/]+/.exec(specifier)?.[0] ?? '') ?? [])
      const named = references.map(({ path }) => posix.join(folder, path))
      expect(named, folder).toEqual(expect.arrayContaining(imported.filter((one) => one !== folder)))
    }
  })
})

describe('an import', () => {
  const manifest: Manifest = {
    name: '@countersign/a',
    dependencies: { zod: '1.0.0', '@countersign/contract': '0.1.0' },
    peerDependencies: { '@types/express': '^5.0.0' },
    devDependencies: { vitest: '1.0.0' },
  }
  const faultsOf = (text: string, of = manifest) => undeclaredImports('a/src/a.ts', importsOf('a/src/a.ts', text), of)

  it.each([
    "import { z } from 'zod/v4'",
    "import { limits } from '@countersign/contract/limits'",
    "import { a } from '@countersign/a'",
    "import './b.js'",
    "import { readFile } from 'node:fs'",
    "import type { Request } from 'express'",
    "import type { Task } from 'vitest'",
  ])('is fine when it is declared: %s', (text) => {
    expect(faultsOf(text)).toEqual([])
  })

  it.each([
    "import { Countersign } from '@countersign/client'",
    "import type { Countersign } from '@countersign/client'",
    "import { it } from 'vitest'",
    "export * from 'zod-openapi'",
    "const { default: express } = await import('express')",
  ])('is noticed when it is not: %s', (text) => {
    expect(faultsOf(text)).toHaveLength(1)
  })

  it('of a development dependency is fine in a private workspace', () => {
    expect(faultsOf("import { it } from 'vitest'", { ...manifest, private: true })).toEqual([])
  })
})

describe('a circle', () => {
  const graph = (...arrows: [string, ...string[]][]) => new Map(arrows.map(([from, ...to]) => [from, to]))

  it('is noticed, once, wherever it begins', () => {
    expect(circles(graph(['a', 'b'], ['b', 'c', 'd'], ['c', 'b'], ['d']))).toEqual(['b -> c -> b'])
  })

  it('is one by a development dependency, too', () => {
    const client = { name: 'client', dependencies: { testkit: '0.1.0' } }
    const testkit = { name: 'testkit', devDependencies: { client: '0.1.0' } }
    const needs = [client, testkit].map((manifest) => [manifest.name, neededBy(manifest)] as const)
    expect(circles(new Map(needs))).toEqual(['client -> testkit -> client'])
  })

  it('is none where two ways lead to the same workspace', () => {
    expect(circles(graph(['a', 'b', 'c'], ['b', 'd'], ['c', 'd'], ['d', 'zod']))).toEqual([])
  })
})
