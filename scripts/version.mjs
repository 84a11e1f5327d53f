/**
 * `npm run version-packages`: gives all packages the next version, as the changesets say, and says it wherever the repository names the
 * version. The workflow of the release runs it, and makes a pull request of it.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { workspaces } from './freshness.mjs'

const ROOT = resolve('.')
const DEPENDENCIES = /** @type {const} */ (['dependencies', 'devDependencies', 'peerDependencies'])
const folders = ['', ...workspaces(ROOT)]

/** @typedef {{ name: string, version?: string } & { [kind in typeof DEPENDENCIES[number]]?: Record<string, string> }} Manifest */

const before = versionOf('server')
// Before 1.0 a minor version of the client is no major one of what needs it: without this, changesets would make 1.0.0 of all.
for (const folder of folders) setOwn(folder, (kind, range) => (kind === 'peerDependencies' ? '*' : range))
execFileSync(process.execPath, [createRequire(import.meta.url).resolve('@changesets/cli/bin.js'), 'version'], {
  cwd: ROOT,
  stdio: 'inherit',
})
const version = versionOf('server')
for (const folder of folders) setOwn(folder, (kind) => (kind === 'peerDependencies' ? `^${version}` : version))
if (version !== before) {
  writeLock()
  edit('CHANGELOG.md', `## ${version} (unreleased)\n`, `## ${version}\n`)
  for (const page of readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md')))
    edit(join('docs', page), `-${before}.tgz`, `-${version}.tgz`, false)
}
console.log(version === before ? `There is no changeset: the version stays ${version}` : `The version is ${version}`)

/** @param {string} folder */
function versionOf(folder) {
  return manifestOf(folder).version ?? ''
}

/**
 * @param {string} folder
 * @returns {Manifest}
 */
function manifestOf(folder) {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
}

/**
 * Changes what a manifest says of the packages of this repository.
 * @param {string} folder
 * @param {(kind: typeof DEPENDENCIES[number], range: string) => string} change
 */
function setOwn(folder, change) {
  const manifest = manifestOf(folder)
  for (const kind of DEPENDENCIES)
    for (const [name, range] of Object.entries(manifest[kind] ?? {}))
      if (/^@?countersign\b/.test(name)) Object.assign(manifest[kind] ?? {}, { [name]: change(kind, range) })
  writeJson(join(folder, 'package.json'), manifest)
}

/** The lock file has a copy of what each manifest says. */
function writeLock() {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  for (const folder of folders) {
    const manifest = manifestOf(folder)
    for (const member of /** @type {const} */ (['version', ...DEPENDENCIES]))
      if (member in lock.packages[folder]) lock.packages[folder][member] = manifest[member]
  }
  writeJson('package-lock.json', lock)
}

/**
 * @param {string} file
 * @param {string} from
 * @param {string} to
 * @param {boolean} [isThere] whether the text must be there
 */
function edit(file, from, to, isThere = true) {
  const text = readFileSync(join(ROOT, file), 'utf8')
  if (isThere && !text.includes(from)) throw new Error(`${file} has no line "${from.trim()}"`)
  if (text.includes(from)) writeFileSync(join(ROOT, file), text.replaceAll(from, to))
}

/**
 * @param {string} file
 * @param {object} value
 */
function writeJson(file, value) {
  writeFileSync(join(ROOT, file), `${JSON.stringify(value, null, 2)}\n`)
}
