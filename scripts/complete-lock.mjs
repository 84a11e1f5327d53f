/**
 * Adds to the lock files the optional packages of other platforms that npm left out.
 *
 * npm writes an optional dependency into the lock file only when the registry it talked to could serve it at that
 * moment, and `npm ci` then refuses the lock file as incomplete. Run this after an `npm install` that changed the lock
 * file; it does nothing when nothing is missing.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { LOST_ANSWERS } from './test-tiers.mjs'

/**
 * @typedef {{ version?: string, optional?: boolean, dev?: boolean, optionalDependencies?: Record<string, string> }} LockEntry
 * @typedef {{ packages: Record<string, LockEntry & Record<string, unknown>> }} Lock
 */

/** What the words in the name of a platform package stand for, by the field of the lock entry that says so. */
const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32', ['windows', 'win32']]
const PROCESSORS = ['arm', 'arm64', 'ia32', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64', ['64', 'x64']]
const LIBRARIES = ['musl', ['gnu', 'glibc']]

/**
 * The platform that a package's name ends with, such as `binding-linux-x64-musl`.
 * @param {string} name
 */
function platformOf(name) {
  const words = name.slice(name.lastIndexOf('/') + 1).split('-')
  /** @param {(string | string[])[]} table */
  const find = (table) => table.map((row) => [row].flat()).filter(([word]) => words.includes(word ?? ''))
  /** @param {(string | string[])[]} table */
  const values = (table) => find(table).map((row) => row.at(-1))
  return { cpu: values(PROCESSORS), libc: values(LIBRARIES), os: values(SYSTEMS) }
}

/**
 * The optional packages that some entry asks for and that the lock file does not hold, as entries to add.
 * @param {Lock} lock
 */
export function missingEntries(lock) {
  /** @type {Lock['packages']} */
  const missing = {}
  for (const [path, entry] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const places = [`${path}/node_modules/${name}`, `node_modules/${name}`]
      if (places.some((place) => place in lock.packages)) continue
      const { cpu, libc, os } = platformOf(name)
      missing[`node_modules/${name}`] = {
        version,
        ...(cpu.length > 0 && { cpu }),
        ...(entry.dev && { dev: true }),
        ...(libc.length > 0 && { libc }),
        optional: true,
        ...(os.length > 0 && { os }),
      }
    }
  }
  return missing
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const folder of ['.', LOST_ANSWERS]) complete(`${folder}/package-lock.json`)
}

/** @param {string} path below the root */
function complete(path) {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url))
  const lock = JSON.parse(readFileSync(file, 'utf8'))
  const missing = missingEntries(lock)
  const sorted = Object.entries({ ...lock.packages, ...missing }).sort(([a], [b]) => a.localeCompare(b, 'en'))
  if (Object.keys(missing).length > 0) {
    writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
  }
  console.log(`${Object.keys(missing).length} missing entries added to ${path}`)
}
