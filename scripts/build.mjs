/**
 * Builds every package: its JavaScript, which is its TypeScript without the types, and the pages of the dashboard. `npm start` and
 * the tests run that. With `--types` the compiler writes it, with the declarations that are published beside it: turbo runs that.
 * Neither looks for mistakes in types: `npm run typecheck` does.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUNDLE, bundleCommand } from './bundle-command.mjs'
import { workspaces } from './freshness.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Their pages are bundled from their sources. */
const PAGES = 'packages/dashboard'
const SERVER = join(ROOT, 'server')
/** Where the bundlers write the pages and the command. They remove what is stale themselves. */
const BUNDLES = [join(SERVER, 'dist/dashboard'), join(SERVER, BUNDLE)]

const folders = workspaces(ROOT).filter((folder) => folder !== PAGES && existsSync(join(ROOT, folder, 'tsconfig.json')))
if (process.argv.includes('--types')) compile()
else await takeTypesAway()
for (const folder of ['contract', 'client'])
  run('node', ['packages/contract/scripts/write-out-endpoints.mjs', `packages/${folder}/dist/endpoints.js`], ROOT)
await bundleCommand(SERVER)
run('npx', ['--no', '--', 'vite', 'build', '--logLevel', 'warn'], join(ROOT, PAGES))

function compile() {
  // What was made without types is no output of the compiler, though it would take it for one.
  for (const folder of folders) {
    rmSync(join(ROOT, folder, 'dist/.tsbuildinfo'), { force: true })
    removeStale(folder)
  }
  run('npx', ['--no', '--', 'tsc', '-b', '--noCheck', ...folders], ROOT)
  run('npm', ['run', '--silent', 'build:types', '--workspaces', '--if-present'], ROOT)
}

async function takeTypesAway() {
  const { transformSync } = await import('rolldown/utils')
  /** As tsconfig.base.json says it: an import stays where it is unless it says `type`. */
  const options = /** @type {const} */ ({
    lang: 'ts',
    sourceType: 'module',
    target: 'es2023',
    sourcemap: true,
    typescript: { onlyRemoveTypeImports: true },
  })
  for (const folder of folders) {
    const [src, dist] = [join(ROOT, folder, 'src'), join(ROOT, folder, 'dist')]
    for (const path of filesOf(src).filter(isSource)) writeJavaScript(path)
    removeStale(folder)

    /** @param {string} source */
    function writeJavaScript(source) {
      const target = join(dist, relative(src, source).replace(/\.ts$/, '.js'))
      const { code, map, errors } = transformSync(
        relative(dirname(target), source),
        readFileSync(source, 'utf8'),
        options,
      )
      if (errors.length > 0) fail(`${relative(ROOT, source)}\n${errors.map(({ message }) => message).join('\n')}`)
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, `${code}//# sourceMappingURL=${basename(target)}.map\n`)
      writeFileSync(`${target}.map`, JSON.stringify(map))
    }
  }
}

/**
 * Removes what was made of sources that are gone. The rest is written in place: a server may run from it.
 * @param {string} folder
 */
function removeStale(folder) {
  const [src, dist] = [join(ROOT, folder, 'src'), join(ROOT, folder, 'dist')]
  for (const path of filesOf(dist).filter((path) => !BUNDLES.some((bundle) => path.startsWith(bundle + sep)))) {
    const [, name] = /^(.*?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(relative(dist, path)) ?? []
    if (name !== undefined && !existsSync(join(src, `${name}.ts`))) rmSync(path)
  }
}

/** @param {string} path */
function isSource(path) {
  return path.endsWith('.ts') && !path.endsWith('.test.ts')
}

/** @param {string} folder */
function filesOf(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {string} cwd
 */
function run(program, args, cwd) {
  const { status } = spawnSync(program, args, { cwd, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exit(status ?? 1)
}

/** @param {string} reason */
function fail(reason) {
  console.error(reason)
  process.exit(1)
}
