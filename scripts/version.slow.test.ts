/** The next version, as the workflow of the release makes it, in a copy of the repository. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { workspaces } from './freshness.mjs'
import { ROOT, readText, repositoryFiles } from './repository-files.js'

const { version: today } = JSON.parse(readText('server/package.json')) as { version: string }
const [major = 0, minor = 0, patch = 0] = today.split('.').map(Number)
const NEXT = `${major}.${minor + 1}.0`

let copy: string
const textOf = (path: string) => readFileSync(join(copy, path), 'utf8')
const jsonOf = (path: string) => JSON.parse(textOf(path))
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], { cwd: copy })
const changeset = (bump: string) =>
  writeFileSync(join(copy, '.changeset/a.md'), `---\n"@countersign/client": ${bump}\n---\n\nIt is quicker.\n`)
const version = () =>
  execFileSync(process.execPath, ['scripts/version.mjs'], { cwd: copy, encoding: 'utf8', stdio: 'pipe' })

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'countersign-version-'))
  const kept =
    /(^|\/)package(-lock)?\.json$|^\.changeset\/config\.json$|^scripts\/\w+\.mjs$|^CHANGELOG\.md$|^docs\/[\w-]+\.md$/
  for (const path of repositoryFiles.filter((path) => kept.test(path))) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    cpSync(join(ROOT, path), join(copy, path))
  }
  writeFileSync(join(copy, 'CHANGELOG.md'), `# Changelog\n\n## ${NEXT} (unreleased)\n`)
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  git('init', '--quiet', '--initial-branch', 'main')
  git('add', '--all', '.', ':!node_modules')
  git('commit', '--quiet', '--message', 'all')
})
afterEach(() => rmSync(copy, { recursive: true, force: true }))

describe('the next version', () => {
  it('of one package is that of all, and a minor one makes no major one of what has it as a peer', () => {
    changeset('minor')
    expect(version()).toContain(`The version is ${NEXT}`)
    const folders = workspaces(copy)
    expect(folders.map((folder) => jsonOf(`${folder}/package.json`).version)).toEqual(folders.map(() => NEXT))
    expect(jsonOf('integrations/langchain/package.json')).toMatchObject({
      peerDependencies: { '@countersign/client': `^${NEXT}` },
      devDependencies: { '@countersign/client': NEXT },
    })
    expect(jsonOf('package.json').devDependencies['@countersign/testkit']).toBe(NEXT)
    expect(textOf('CHANGELOG.md')).toContain(`\n## ${NEXT}\n`)
    expect(textOf('docs/sdk.md')).toContain(`countersign-client-${NEXT}.tgz`)
    expect(() => textOf('.changeset/a.md')).toThrow('ENOENT')
    // The lock file still fits the manifests: npm says so without a registry.
    const npm = ['install', '--package-lock-only', '--ignore-scripts', '--offline', '--no-audit', '--no-fund']
    const lock = textOf('package-lock.json')
    execFileSync('npm', npm, { cwd: copy, stdio: 'pipe' })
    expect(textOf('package-lock.json')).toBe(lock)
  })

  it('needs its section in the changelog, and says so', () => {
    changeset('patch')
    expect(version).toThrow(`CHANGELOG.md has no line "## ${major}.${minor}.${patch + 1} (unreleased)"`)
  })

  it('is none without a changeset', () => {
    const manifests = workspaces(copy).map((folder) => textOf(`${folder}/package.json`))
    expect(version()).toContain(`There is no changeset: the version stays ${today}`)
    expect(workspaces(copy).map((folder) => textOf(`${folder}/package.json`))).toEqual(manifests)
  })
})

it('the packages have one version today', () => {
  const versions = workspaces(ROOT).map((folder) => JSON.parse(readText(`${folder}/package.json`)).version)
  expect(new Set(versions).size).toBe(1)
})
