/**
 * Makes clients of docs/reference/openapi.json with generators of others, as docs/sdk.md prints it: one for Python, one for
 * TypeScript. Fails when a generator warns or when a client lacks an operation, does not compile, or cannot call a server.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../server/dist/adapters/system-clock.js'
import { readConfig, start } from '../../server/dist/index.js'
import { installArgs } from './install-args.mjs'

/** Exact, so that a release of theirs does not fail a check of ours. */
const VERSIONS = { python: '0.29.1', heyApi: '0.95.0', typescript: '5.9.3', nodeTypes: '20.19.0' }

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DOCUMENT = join(ROOT, 'docs', 'reference', 'openapi.json')
const CALLS = join(ROOT, 'scripts', 'fixtures', 'generators')
const KEY = 'a-key-for-the-generated-clients-of-43-chars'
const WARNING = /warn|error|unable|cannot|could not|unsupported|not supported|skipp|omitted/i

const folder = mkdtempSync(join(tmpdir(), 'countersign-generators-'))
const log = { info() {}, warn() {}, error() {} }
const config = readConfig({ PORT: '0', DATA_DIR: join(folder, 'data'), COUNTERSIGN_BOOTSTRAP_KEY: KEY })
const server = await start(config, { clock: systemClock(), log })
try {
  await checkPython()
  await checkTypeScript()
} finally {
  await server.stop(0)
  rmSync(folder, { recursive: true, force: true })
}

async function checkPython() {
  const at = madeFolder('python')
  await run('python3', ['-m', 'venv', 'venv'], at)
  // The generator looks for its formatter there.
  const path = `${join(at, 'venv', 'bin')}${delimiter}${process.env.PATH}`
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
  await run('python', [...pip, `openapi-python-client==${VERSIONS.python}`], at, path)
  const generate = ['generate', '--path', DOCUMENT, '--meta', 'none', '--output-path', 'client']
  expectNoWarning(await run('openapi-python-client', generate, at, path))
  const modules = readdirSync(join(at, 'client', 'api'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.py') && !name.endsWith('__init__.py'))
    .map((name) => name.replace(/^.*\/|\.py$/g, ''))
  expectEveryOperation('Python', modules)
  await run('python', ['-m', 'compileall', '-q', 'client'], at, path)
  copyFileSync(join(CALLS, 'call.py'), join(at, 'call.py'))
  await run('python', ['-W', 'error', 'call.py', server.url, KEY], at, path)
}

async function checkTypeScript() {
  const at = madeFolder('typescript')
  writeFileSync(join(at, 'package.json'), '{ "private": true }')
  const { heyApi, typescript, nodeTypes } = VERSIONS
  const packages = [`@hey-api/openapi-ts@${heyApi}`, `typescript@${typescript}`, `@types/node@${nodeTypes}`]
  await run('npm', installArgs(at, packages), at)
  expectNoWarning(await run('npx', ['--no-install', 'openapi-ts', '--input', DOCUMENT, '--output', 'client'], at))
  const functions = readFileSync(join(at, 'client', 'sdk.gen.ts'), 'utf8').matchAll(/^export const (\w+) =/gm)
  expectEveryOperation(
    'TypeScript',
    [...functions].map(([, name = '']) => name),
  )
  copyFileSync(join(CALLS, 'call.ts'), join(at, 'call.ts'))
  const strict = ['--strict', '--target', 'es2022', '--module', 'commonjs', '--lib', 'es2022,dom,dom.iterable']
  await run('npx', ['--no-install', 'tsc', ...strict, '--types', 'node', 'call.ts', 'client/index.ts'], at)
  await run(process.execPath, ['call.js', server.url, KEY], at)
}

/**
 * @param {string} name
 * @returns {string}
 */
function madeFolder(name) {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}

/** @param {string} said */
function expectNoWarning(said) {
  if (WARNING.test(said)) throw new Error('The generator warns.')
}

/**
 * @param {string} language
 * @param {readonly string[]} names of what the client can call
 */
function expectEveryOperation(language, names) {
  /** @type {{ paths: Record<string, Record<string, { operationId: string }>> }} */
  const { paths } = JSON.parse(readFileSync(DOCUMENT, 'utf8'))
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
  // A language spells a name its own way.
  const made = new Set(names.map(withoutCase))
  const lost = ids.filter((id) => !made.has(withoutCase(id)))
  if (lost.length > 0 || made.size !== ids.length)
    throw new Error(`The ${language} client has ${made.size} of ${ids.length} operations. It lacks: ${lost.join(', ')}`)
  console.log(`The ${language} client has all ${ids.length} operations.`)
}

/** @param {string} name */
function withoutCase(name) {
  return name.replaceAll('_', '').toLowerCase()
}

/**
 * Not spawnSync: the server runs in this process.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {string} cwd
 * @param {string} [path]
 * @returns {Promise<string>} what it said
 */
async function run(program, args, cwd, path = process.env.PATH) {
  const child = spawn(program, args, { cwd, env: { ...process.env, PATH: path }, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      said += text
      process.stdout.write(text)
    })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with exit code ${code}`)
  return said
}
