/**
 * Carries out the Dockerfile without an engine: every COPY and RUN of its stages in clean folders, as a user who is not root
 * where this one may choose, then its command and its health check. What stays unproven is what the base image brings.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commandOf, lastOf, pairsOf, stagesOf } from './dockerfile.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** `nobody`, where there is no user of the name `node`. */
const NOT_ROOT = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const READY_MS = 30_000

const folder = mkdtempSync(join(tmpdir(), 'countersign-image-'))
chmodSync(folder, 0o755)
try {
  await check()
  console.log('The steps of the Dockerfile make a server that runs, is healthy and ends when it is asked to.')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function check() {
  const stages = stagesOf(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))
  for (const stage of stages) build(stage)
  const image = /** @type {import('./dockerfile.mjs').Stage} */ (stages.at(-1))
  if (lastOf(image, 'USER') === 'root') throw new Error('The image runs as root.')
  await run(image)
}

/**
 * Where a path of a stage is here.
 * @param {{ name: string }} stage
 * @param {string} path
 */
function placeOf({ name }, path) {
  return join(folder, name, path)
}

/** @param {import('./dockerfile.mjs').Stage} stage */
function build(stage) {
  let workdir = '/'
  makeOurs(placeOf(stage, '/'))
  for (const { keyword, rest } of stage.instructions) {
    if (keyword === 'WORKDIR') {
      workdir = rest
      makeOurs(placeOf(stage, workdir))
    }
    if (keyword === 'COPY') copy(stage, rest, placeOf(stage, workdir))
    if (keyword === 'RUN') command(stage, rest, placeOf(stage, workdir))
  }
}

/** @param {string} path */
function makeOurs(path) {
  mkdirSync(path, { recursive: true })
  give(path)
}

/** @param {string} path */
function give(path) {
  if (NOT_ROOT.uid !== undefined) must('chown', ['-R', `${NOT_ROOT.uid}:${NOT_ROOT.gid}`, path], {})
}

/**
 * @param {import('./dockerfile.mjs').Stage} stage
 * @param {string} rest
 * @param {string} workdir
 */
function copy(stage, rest, workdir) {
  const [, from, source = '', target = ''] = /^(?:--from=(\S+)\s+)?(\S+)\s+(\S+)$/.exec(rest) ?? []
  const to = target.startsWith('/') ? placeOf(stage, target) : join(workdir, target)
  if (from !== undefined) cpSync(placeOf({ name: from }, source), to, { recursive: true, verbatimSymlinks: true })
  else if (source === '.' && target === '.') copyContext(to)
  else throw new Error(`This check knows no COPY ${rest}.`)
  give(to)
}

/**
 * What the engine is given: the checkout without what .dockerignore names. A pattern is a path below the root, or a name
 * anywhere after `**` and a slash.
 * @param {string} to
 */
function copyContext(to) {
  const patterns = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n').filter(Boolean)
  const excluded = patterns.map(
    (pattern) => `--exclude=${pattern.startsWith('**/') ? pattern.slice(3) : `./${pattern}`}`,
  )
  must('sh', ['-c', 'tar -C "$0" "$@" -cf - . | tar -C "$TO" -xf -', ROOT, ...excluded], {
    env: { ...process.env, TO: to },
  })
}

/**
 * @param {import('./dockerfile.mjs').Stage} stage
 * @param {string} line
 * @param {string} cwd
 */
function command(stage, line, cwd) {
  // The user of the image is the one who runs this; its folders are below ours.
  const here = line.replace('-o node -g node ', '').replaceAll(/ (\/\S+)/g, (_, path) => ` ${placeOf(stage, path)}`)
  must('sh', ['-c', here], { cwd, ...NOT_ROOT, env: cleanEnv(stage) })
}

/** @param {{ name: string }} stage */
function cleanEnv(stage) {
  const home = placeOf(stage, '/tmp')
  makeOurs(home)
  const {
    PATH,
    npm_config_registry: registry = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).stdout.trim(),
  } = process.env
  return { PATH, HOME: home, npm_config_registry: registry }
}

/** @param {import('./dockerfile.mjs').Stage} stage */
async function run(stage) {
  const cwd = placeOf(stage, lastOf(stage, 'WORKDIR'))
  const settings = pairsOf(lastOf(stage, 'ENV'))
  const dataDir = placeOf(stage, settings.DATA_DIR ?? '')
  if ((statSync(dataDir).mode & 0o777) !== 0o700) throw new Error('The data directory is open to other users.')
  const port = await freePort()
  const env = { ...cleanEnv(stage), ...settings, DATA_DIR: dataDir, PORT: `${port}`, HOST: '127.0.0.1' }
  const options = { cwd, env, ...NOT_ROOT }
  const [program = '', ...args] = [...commandOf(lastOf(stage, 'ENTRYPOINT')), ...commandOf(lastOf(stage, 'CMD'))]
  const refused = spawnSync(program, args, { ...options, env: { ...env, HOST: settings.HOST ?? '' }, encoding: 'utf8' })
  if (refused.status !== 78 || !refused.stderr.includes('ISSUER'))
    throw new Error('Without ISSUER it has to be refused.')
  const [health = '', ...healthArgs] = commandOf(lastOf(stage, 'HEALTHCHECK'))
  const isHealthy = () => spawnSync(health, healthArgs, options).status === 0
  if (isHealthy()) throw new Error('It is healthy before it runs.')
  const server = spawn(program, args, { ...options, stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = new Promise((resolve) => server.once('exit', (code, signal) => resolve(code ?? signal)))
  const end = performance.now() + READY_MS
  while (!isHealthy())
    if (performance.now() > end || server.exitCode !== null) throw new Error('It does not become healthy.')
  const page = await (await fetch(`http://127.0.0.1:${port}/`)).text()
  if (!page.includes('<div id="root">')) throw new Error('It has no dashboard.')
  server.kill('SIGTERM')
  const code = await ended
  if (code !== 0) throw new Error(`It ended with ${code}.`)
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
      server.close(() => resolve(port))
    })
  })
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} options
 */
function must(program, args, options) {
  const { status } = spawnSync(program, args, { stdio: 'inherit', ...options })
  if (status !== 0) throw new Error(`${[program, ...args].join(' ')} ended with ${status}.`)
}
