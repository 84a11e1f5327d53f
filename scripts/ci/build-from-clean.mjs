/** Looks for mistakes in all types and builds every workspace, without former output. */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { workspaces } from '../freshness.mjs'
import { prepare, prepareFolder } from '../prepare.mjs'
import { LOST_ANSWERS } from '../test-tiers.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
await prepare(root, 'tools')
await prepareFolder(join(root, LOST_ANSWERS))
for (const workspace of workspaces(root)) rmSync(join(root, workspace, 'dist'), { recursive: true, force: true })
// The types first: what it compiles, the build finds compiled.
run(tsc, '-b')
run(tsc, '-p', join(root, LOST_ANSWERS))
// The steps behind this one find it prepared, and none of them builds beside another.
await prepare(root, 'packages')

/**
 * @param {string} program
 * @param {string[]} args
 */
function run(program, ...args) {
  const { status } = spawnSync(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
