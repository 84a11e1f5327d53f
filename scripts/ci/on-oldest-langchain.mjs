/**
 * Runs the tests of the LangChain integration with the oldest version that each of its peer ranges admits. The lock file has the
 * newest, with which all other steps run.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installArgs } from './install-args.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PACKAGE = join(ROOT, 'integrations', 'langchain')
/** The schemas of tools: LangChain of that time admits this version, too. */
const ZOD = '3.25.76'
/** What the tests import from this checkout. */
const LINKED = ['@countersign/client', '@countersign/testkit', 'vitest']

const { peerDependencies } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))
const oldest = Object.entries(peerDependencies)
  .filter(([name]) => !name.startsWith('@countersign/'))
  .map(([name, range]) => `${name}@${String(range).replace('^', '')}`)

const folder = mkdtempSync(join(tmpdir(), 'countersign-oldest-'))
try {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  run('npm', installArgs(folder, [...oldest, `zod@${ZOD}`]))
  for (const name of LINKED) link(name)
  const installed = join(folder, 'node_modules', '@countersign', 'langchain')
  for (const part of ['package.json', 'dist']) cpSync(join(PACKAGE, part), join(installed, part), { recursive: true })
  const tests = readdirSync(join(PACKAGE, 'test')).filter((name) => !name.includes('.slow.'))
  for (const name of tests) cpSync(join(PACKAGE, 'test', name), join(folder, 'test', name))
  console.log(`With ${oldest.join(', ')}:`)
  run(process.execPath, [join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--testTimeout', '60000'])
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** @param {string} name */
function link(name) {
  const path = join(folder, 'node_modules', name)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules', name), path)
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function run(program, args) {
  const { status } = spawnSync(program, args, { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${program} ended with exit code ${status}`)
}
