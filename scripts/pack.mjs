/**
 * `npm run pack`: builds what is stale and writes a tarball of every package of the scope to `dist-packages`, or to the folder
 * that is given. Its last lines are the commands that install them elsewhere.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { workspaces } from './freshness.mjs'
import { prepare } from './prepare.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * @typedef {{ name: string, version: string, private?: boolean, dependencies?: Record<string, string>, peerDependencies?: Record<string, string> }} Manifest
 * @typedef {{ name: string, tarball: string, files: string[], needs: string[] }} Packed its tarball as an absolute path; the
 * files in it; the packages of this repository that it cannot do without, itself included
 */

/**
 * Packs what is built, as npm would publish it. Tarballs of Countersign that were in the folder before are removed, and no others.
 * @param {string} folder made when it is not there
 * @returns {Packed[]}
 */
export function packPackages(folder) {
  return pack(folder, (name) => name.startsWith('@'))
}

/**
 * Packs the short names, `countersign` and `countersign-mcp`. They need a folder of their own: npm gives the tarball of
 * `@countersign/mcp` the same name as that of `countersign-mcp`.
 * @param {string} folder as for `packPackages`
 * @returns {Packed[]}
 */
export function packShortNames(folder) {
  return pack(folder, (name) => !name.startsWith('@'))
}

/**
 * @param {string} folder
 * @param {(name: string) => boolean} isMeant
 * @returns {Packed[]}
 */
function pack(folder, isMeant) {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) if (/^countersign-.*\.tgz$/.test(name)) rmSync(join(folder, name))
  const published = manifests().filter((manifest) => !manifest.private)
  const chosen = published.filter(({ name }) => isMeant(name)).flatMap(({ name }) => ['--workspace', name])
  // A build of its own would change what others are reading.
  const args = ['pack', ...chosen, '--ignore-scripts', '--pack-destination', folder, '--json', '--loglevel', 'error']
  const packed = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', shell: process.platform === 'win32' })
  return Object.values(JSON.parse(packed)).map(({ name, filename, files }) => ({
    name,
    tarball: join(resolve(folder), filename),
    files: files.map((/** @type {{ path: string }} */ { path }) => path),
    needs: [...closureOf(name, published)].sort(),
  }))
}

/** The names of the packages that a release publishes. */
export function publishedNames() {
  return manifests()
    .filter((manifest) => !manifest.private)
    .map(({ name }) => name)
}

/** @returns {Manifest[]} */
function manifests() {
  return workspaces(ROOT).map((workspace) => JSON.parse(readFileSync(join(ROOT, workspace, 'package.json'), 'utf8')))
}

/**
 * @param {string} name
 * @param {Manifest[]} all
 * @param {Set<string>} found
 */
function closureOf(name, all, found = new Set()) {
  const manifest = all.find((one) => one.name === name)
  if (manifest === undefined || found.has(name)) return found
  found.add(name)
  for (const needed of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) {
    closureOf(needed, all, found)
  }
  return found
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // An option is a mistake, and no name of a folder.
  const { positionals } = parseArgs({ allowPositionals: true })
  await prepare(ROOT, 'packages')
  const folder = resolve(positionals[0] ?? join(ROOT, 'dist-packages'))
  const packed = packPackages(folder)
  console.log(`${packed.length} packages in ${folder}. In your project, install the one you want with those it needs:`)
  for (const { name, needs } of packed) {
    const tarballs = packed.filter((other) => needs.includes(other.name)).map(({ tarball }) => tarball)
    console.log(`\n${name}\n  npm install ${tarballs.join(' ')}`)
  }
}
