/** What tells whether the installed packages and the built output of a checkout still fit its sources. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The parts of a workspace that its build reads, and the part that it writes. */
const SOURCES = ['src', 'scripts', 'index.html', 'package.json', 'tsconfig.json', 'vite.config.ts']
const OUTPUT = 'dist'
const SHARED_SOURCES = [
  'package.json',
  'package-lock.json',
  'tsconfig.base.json',
  'turbo.json',
  'scripts/build.mjs',
  'scripts/bundle-command.mjs',
]

/**
 * The SHA-256 of the lock file.
 * @param {string} root
 */
export function lockHash(root) {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
}

/**
 * The SHA-256 of npm's own record of what it installed last; empty without one.
 * @param {string} root
 */
export function installedHash(root) {
  const record = recordOf(root)
  return existsSync(record) ? createHash('sha256').update(readFileSync(record)).digest('hex') : ''
}

/** @param {string} root */
const recordOf = (root) => join(root, 'node_modules', '.package-lock.json')

/**
 * Whether `node_modules` holds what the lock file says by npm's own record of it, as after `npm install` by hand.
 * @param {string} root
 */
export function installedAsLocked(root) {
  const record = recordOf(root)
  if (!existsSync(record)) return false
  const installed = packagesIn(record)
  const locked = packagesIn(join(root, 'package-lock.json'))
  const nothingMore = Object.keys(installed).every((path) => path in locked)
  const nothingLess = Object.entries(locked).every(([path, { version, optional }]) =>
    path in installed ? installed[path]?.version === version : optional,
  )
  return nothingMore && nothingLess
}

/**
 * What a lock file of npm lists below `node_modules`, by path.
 * @param {string} file
 * @returns {Record<string, { version?: string, optional?: boolean }>}
 */
function packagesIn(file) {
  const { packages } = JSON.parse(readFileSync(file, 'utf8'))
  return Object.fromEntries(Object.entries(packages).filter(([path]) => path.includes('node_modules/')))
}

/**
 * Every file that a build reads, as paths below `root`.
 * @param {string} root
 */
export function sourceFiles(root) {
  const own = workspaces(root).flatMap((workspace) => SOURCES.map((part) => join(workspace, part)))
  return [...SHARED_SOURCES, ...own]
    .flatMap((path) => filesBelow(root, path))
    .filter((path) => !path.endsWith('.test.ts'))
}

/**
 * Every file that a build wrote, as paths below `root`.
 * @param {string} root
 */
export function builtFiles(root) {
  return workspaces(root).flatMap((workspace) => filesBelow(root, join(workspace, OUTPUT)))
}

/**
 * One hash over the files: of their bytes (`content`), or of their sizes and times of change (`state`).
 * @param {string} root
 * @param {string[]} files
 * @param {'content' | 'state'} of
 */
export function fingerprintOf(root, files, of) {
  const hash = createHash('sha256')
  for (const file of files) {
    hash.update(`${file}\0`)
    if (of === 'content') {
      hash.update(readFileSync(join(root, file)))
    } else {
      const { size, mtimeMs } = statSync(join(root, file))
      hash.update(`${size} ${mtimeMs}`)
    }
    hash.update('\0')
  }
  return hash.digest('hex')
}

/**
 * The folders of the workspaces that `package.json` names, one by one or all below a folder (`packages/*`).
 * @param {string} root
 * @returns {string[]}
 */
export function workspaces(root) {
  /** @type {string[]} */
  const patterns = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).workspaces
  const folders = patterns.flatMap((pattern) => {
    if (!pattern.endsWith('/*')) return [pattern]
    const parent = pattern.slice(0, -2)
    return existsSync(join(root, parent))
      ? readdirSync(join(root, parent))
          .sort()
          .map((name) => `${parent}/${name}`)
      : []
  })
  return folders.filter((folder) => existsSync(join(root, folder, 'package.json')))
}

/**
 * @param {string} root
 * @param {string} path a file or folder below `root`, or nothing at all
 * @returns {string[]}
 */
function filesBelow(root, path) {
  const found = statSync(join(root, path), { throwIfNoEntry: false })
  if (!found) return []
  if (found.isFile()) return [path]
  return readdirSync(join(root, path))
    .sort()
    .flatMap((name) => filesBelow(root, join(path, name)))
}
