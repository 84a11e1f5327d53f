/**
 * Builds every workspace for `npm start` and `npm test`: what `npm run build` writes, but by one compiler for all, and without
 * looking for mistakes in types. Those are what `npm run typecheck` and `npm run build` look for.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { workspaces } from './freshness.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COMPILE = 'tsc -b'

const built = workspaces(ROOT).flatMap((folder) => {
  const { scripts = {} } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
  return scripts.build === undefined ? [] : [{ folder, build: scripts.build }]
})
const compiled = built.filter(({ build }) => build.startsWith(COMPILE))
const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
run(process.execPath, [compiler, '-b', '--noCheck', ...compiled.map(({ folder }) => folder)], ROOT)

// What the build of a workspace does besides: all of it reads what was compiled.
for (const { folder, build } of built) {
  const rest = build.startsWith(COMPILE) ? build.slice(COMPILE.length).replace(/^ && /, '') : `npx --no ${build}`
  if (rest !== '') run(rest, [], join(ROOT, folder), true)
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {string} cwd
 */
function run(program, args, cwd, shell = false) {
  const { status } = spawnSync(program, args, { cwd, stdio: 'inherit', shell })
  if (status !== 0) process.exit(status ?? 1)
}
