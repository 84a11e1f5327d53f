/**
 * Publishes all packages, as the release does, to a registry on this machine. Then newcomers type what docs/install.md and the READMEs of the
 * packages say, each in an empty folder: `npx countersign`, `npx countersign-mcp`, and a program of each kind of user. The workflow
 * runs it on each Node that is supported.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publishedNames } from '../pack.mjs'
import { prepare } from '../prepare.mjs'
import { startRegistry } from './registry.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NEWCOMER = join(ROOT, 'scripts', 'ci', 'newcomer.mjs')
const IS_DRY_RUN = /npm warn publish .*\(dry-run\).*/g

await prepare(ROOT, 'packages')
const began = performance.now()
const folder = mkdtempSync(join(tmpdir(), 'countersign-by-name-'))
const registry = await startRegistry()
try {
  await publishAll()
  await node(NEWCOMER, 'doors', registry.url)
  await node(NEWCOMER, 'programs', registry.url)
  console.log(`All of it took ${Math.round((performance.now() - began) / 1000)} s`)
} finally {
  registry.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function publishAll() {
  const names = publishedNames()
  const settings = join(folder, 'npmrc')
  writeFileSync(settings, `${registry.url.replace('http:', '')}/:_authToken=${registry.token}\n`)
  const args = ['publish', ...names.flatMap((name) => ['--workspace', name]), '--ignore-scripts']
  args.push('--registry', registry.url, '--userconfig', settings, '--loglevel', 'warn')
  const warnings = await errorOutput('npm', [...args, '--dry-run'])
  if (/npm (warn|error)/i.test(warnings.replaceAll(IS_DRY_RUN, ''))) throw new Error(`npm publish warns:\n${warnings}`)
  // Only the workflow of the release can say where a package was built.
  await errorOutput('npm', [...args, '--no-provenance'])
  console.log(`npm published ${names.length} packages, first as a dry run and without a warning`)
}

/** @param {string[]} args */
async function node(...args) {
  const [code] = await once(spawn(process.execPath, args, { cwd: folder, stdio: 'inherit' }), 'exit')
  if (code !== 0) throw new Error(`${args.join(' ')} ended with exit code ${code}`)
}

/**
 * Not spawnSync: the registry runs in this process.
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<string>} what it said on standard error
 */
async function errorOutput(program, args) {
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
    said += text
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with exit code ${code}\n${said}`)
  return said
}
