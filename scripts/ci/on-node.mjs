/**
 * Runs a command with another Node than the one that is installed: node scripts/ci/on-node.mjs <major> <program> <arguments …>
 *
 * A package of npm for each platform has the real binary, and no script that npm would run.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { installArgs } from './install-args.mjs'

/** @type {Readonly<Record<string, string>>} */
const VERSIONS = { 20: '20.20.2', 22: '22.23.3', 24: '24.21.0' }

const [major = '', program = '', ...args] = process.argv.slice(2)
const version = VERSIONS[major]
if (version === undefined) throw new Error(`No version of Node ${major} is known here, only ${Object.keys(VERSIONS)}`)

const folder = mkdtempSync(join(tmpdir(), 'countersign-node-'))
try {
  const name = `node-${process.platform}-${process.arch}`
  const install = spawnSync('npm', installArgs(folder, [`${name}@${version}`]), { stdio: 'inherit' })
  if (install.status !== 0) throw new Error(`${name} could not be installed`)
  const env = { ...process.env, PATH: `${join(folder, 'node_modules', name, 'bin')}${delimiter}${process.env.PATH}` }
  const found = spawnSync('node', ['--version'], { env, encoding: 'utf8' }).stdout.trim()
  if (found !== `v${version}`) throw new Error(`This is Node ${found}, not ${version}`)
  console.log(`Node ${found}`)
  const [code] = await once(spawn(program, args, { env, stdio: 'inherit' }), 'exit')
  process.exitCode = code ?? 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
