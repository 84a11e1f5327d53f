/** The tables of docs/README.md that say what exists, and what does not yet. */
import { describe, expect, it } from 'vitest'
import { workspaces } from './freshness.mjs'
import { ROOT, readText, repositoryFiles } from './repository-files.js'

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly bin?: Readonly<Record<string, string>>
}

const manifests = workspaces(ROOT).map((folder) => JSON.parse(readText(`${folder}/package.json`)) as Manifest)
const published = manifests.filter((manifest) => !manifest.private)
const { paths } = JSON.parse(readText('docs/reference/openapi.json')) as { paths: object }

/** The first two segments of each path of the API. */
const resources = new Set(Object.keys(paths).map((path) => path.split('/').slice(0, 3).join('/')))
const names = new Set(published.map(({ name }) => name))
const programs = new Set(published.flatMap(({ bin = {} }) => Object.keys(bin)))
const commands = new Set(
  [...readText('server/src/cli/main.ts').matchAll(/\bprogram\s*\.command\('([a-z-]+)/g)].map(
    ([, command]) => `countersign ${command}`,
  ),
)
const existing = new Set([...resources, ...names, ...programs, ...commands])

/** Parts of the others: no reader of the page has to look for them. */
const PARTS = new Set(['countersign', '@countersign/contract', '@countersign/engine'])

const PAGE = readText('docs/README.md')

/** What the second column of a table names. */
function named(head: string): string[] {
  const table = PAGE.slice(PAGE.indexOf(`| ${head} |`)).split('\n\n')[0] ?? ''
  const rows = table.split('\n').slice(2)
  return rows.flatMap((row) => [...(row.split(' | ')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
}

describe('the index of the documentation', () => {
  it('says that each resource of the API, each package and each command exists', () => {
    const said = new Set(named('You can'))
    expect([...existing].filter((name) => !said.has(name) && !PARTS.has(name))).toEqual([])
    expect([...said].filter((name) => !existing.has(name))).toEqual([])
    expect([resources.size, names.size, commands.size].every((count) => count > 8)).toBe(true)
  })

  it('says of nothing that exists that it does not yet', () => {
    const missing = named('Not yet')
    expect(missing.length).toBeGreaterThan(0)
    expect(missing.filter((name) => existing.has(name))).toEqual([])
  })

  it.each(['CONTRIBUTING.md', 'docs/architecture.md'])('%s has each folder of the workspace in its map', (page) => {
    const text = readText(page)
    const folders = workspaces(ROOT).filter((folder) => !folder.startsWith('examples/'))
    const inMap = (folder: string) =>
      [folder, folder.split('/').at(-1)].some((name) => new RegExp(`^ *${name}[/ ]`, 'm').test(text))
    expect(folders.filter((folder) => !inMap(folder))).toEqual([])
  })

  it('has each example', () => {
    const examples = repositoryFiles.flatMap((path) => /^examples\/([^/]+)\/package\.json$/.exec(path)?.[1] ?? [])
    expect(examples.filter((example) => !PAGE.includes(`](../examples/${example}/README.md)`))).toEqual([])
  })
})
