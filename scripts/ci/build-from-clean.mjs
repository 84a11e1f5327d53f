/** Builds every workspace with neither former output nor turbo's cache. */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { workspaces } from '../freshness.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
for (const workspace of workspaces(root)) rmSync(join(root, workspace, 'dist'), { recursive: true, force: true })
const turbo = [join(root, 'node_modules', 'turbo', 'bin', 'turbo'), 'run', 'build', '--force']
process.exitCode = spawnSync(process.execPath, turbo, { cwd: root, stdio: 'inherit' }).status ?? 1
