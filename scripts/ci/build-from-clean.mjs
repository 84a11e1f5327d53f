/** Looks for mistakes in all types and builds every workspace, with neither former output nor turbo's cache. */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { workspaces } from '../freshness.mjs'
import { prepare } from '../prepare.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
for (const workspace of workspaces(root)) rmSync(join(root, workspace, 'dist'), { recursive: true, force: true })
// The types first: what it compiles, the build finds compiled.
run(join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-b')
run(join(root, 'node_modules', 'turbo', 'bin', 'turbo'), 'run', 'build', '--force')
// The steps behind this one find it prepared, and none of them builds beside another.
await prepare(root)

/**
 * @param {string} program
 * @param {string[]} args
 */
function run(program, ...args) {
  const { status } = spawnSync(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
