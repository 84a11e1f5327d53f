/**
 * Carries out the Dockerfile without an engine: every COPY and RUN of its stages in clean folders, as a user who is not root
 * where this one may choose, then its command and its health check. Root can do more: the image then runs as its own user,
 * without privileges, and with a file system that is read-only outside of the data directory. The build is made a second time
 * for the other processor. What stays unproven is what the base image brings.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../free-port.mjs'
import { commandOf, lastOf, pairsOf, stagesOf } from './dockerfile.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const IS_ROOT = process.getuid?.() === 0
/** `nobody` builds, so that the user of the image owns none of its programs. */
const NOT_ROOT = IS_ROOT ? { uid: 65_534, gid: 65_534 } : {}
/** What docker calls the processors, and the machine (`e_machine`) that the header of a program for them names. */
const MACHINES = /** @type {const} */ ({ amd64: 0x3e, arm64: 0xb7 })
const HERE = process.arch === 'arm64' ? 'arm64' : 'amd64'
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
  const app = placeOf(image, lastOf(image, 'WORKDIR'))
  checkNativePart(app, HERE)
  checkSbom(app)
  buildForOther(/** @type {import('./dockerfile.mjs').Stage} */ (stages[0]))
  await run(image, userOf(image))
}

/**
 * @param {import('./dockerfile.mjs').Stage} image
 * @returns {{ uid: number, gid: number }}
 */
function userOf(image) {
  const [, uid, gid] = /^(\d+):(\d+)$/.exec(lastOf(image, 'USER')) ?? []
  if (uid === undefined || uid === '0' || gid === '0')
    throw new Error('USER must be two numbers that are not 0: Kubernetes refuses a name where root is not allowed.')
  return { uid: Number(uid), gid: Number(gid) }
}

/**
 * The stage that builds once more, for the processor that this machine does not have: its result cannot run here.
 * @param {import('./dockerfile.mjs').Stage} stage
 */
function buildForOther(stage) {
  const other = HERE === 'amd64' ? 'arm64' : 'amd64'
  const cwd = placeOf(stage, lastOf(stage, 'WORKDIR'))
  const line = lastOf(stage, 'RUN').replace(/ out$/, ' out-for-other')
  must('sh', ['-c', line], { cwd, ...NOT_ROOT, env: { ...cleanEnv(stage), TARGETARCH: other } })
  checkNativePart(join(cwd, 'out-for-other'), other)
}

/**
 * @param {string} app
 * @param {keyof typeof MACHINES} arch
 */
function checkNativePart(app, arch) {
  const parts = readdirSync(app, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.node'))
  const machines = parts.map((path) => readFileSync(join(app, path)).readUInt16LE(18))
  if (parts.length !== 1 || machines[0] !== MACHINES[arch])
    throw new Error(
      `An image for ${arch} needs one native part, for that processor. It has: ${parts.join(', ') || 'none'}`,
    )
}

/**
 * The SBOM names each installed package of others, and nothing that is not there.
 * @param {string} app
 */
function checkSbom(app) {
  /** @type {{ components: { name: string, version: string, purl: string }[] }} */
  const { components } = JSON.parse(readFileSync(join(app, 'sbom.cdx.json'), 'utf8'))
  const named = components
    .filter(({ purl }) => purl.startsWith('pkg:npm/'))
    .map(({ name, version }) => `${name}@${version}`)
  const installed = installedPackages(app)
  const ours = readdirSync(join(app, 'node_modules', '@countersign')).length
  const unnamed = installed.filter((name) => !named.includes(name))
  const absent = named.filter((name) => !installed.includes(name))
  // npm names ours by their folders.
  if (installed.length < 50 || unnamed.length > 0 || absent.length !== ours)
    throw new Error(`The SBOM lacks ${unnamed.join(', ') || 'nothing'}, and names ${absent.join(', ')}.`)
}

/**
 * @param {string} app
 * @returns {string[]} names with versions, without ours
 */
function installedPackages(app) {
  return readdirSync(app, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path))
    .map((path) => JSON.parse(readFileSync(join(app, path), 'utf8')))
    .map(({ name, version }) => `${name}@${version}`)
    .filter((name) => !name.startsWith('@countersign/'))
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
  const here = line.replace(/-o \d+ -g \d+ /, '').replaceAll(/ (\/\S+)/g, (_, path) => ` ${placeOf(stage, path)}`)
  must('sh', ['-c', here], { cwd, ...NOT_ROOT, env: cleanEnv(stage) })
}

/** @param {import('./dockerfile.mjs').Stage} stage */
function cleanEnv(stage) {
  const home = placeOf(stage, '/tmp')
  makeOurs(home)
  const {
    PATH,
    npm_config_registry: registry = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).stdout.trim(),
  } = process.env
  const hasArch = stage.instructions.some(({ keyword, rest }) => keyword === 'ARG' && rest === 'TARGETARCH')
  return { PATH, HOME: home, npm_config_registry: registry, ...(hasArch && { TARGETARCH: HERE }) }
}

/**
 * @param {import('./dockerfile.mjs').Stage} stage
 * @param {{ uid: number, gid: number }} user
 */
async function run(stage, user) {
  const cwd = placeOf(stage, lastOf(stage, 'WORKDIR'))
  const settings = pairsOf(lastOf(stage, 'ENV'))
  const dataDir = placeOf(stage, settings.DATA_DIR ?? '')
  if ((statSync(dataDir).mode & 0o777) !== 0o700) throw new Error('The data directory is open to other users.')
  if (IS_ROOT) chownSync(dataDir, user.uid, user.gid)
  const port = await freePort()
  const env = { ...cleanEnv(stage), ...settings, DATA_DIR: dataDir, PORT: `${port}`, HOST: '127.0.0.1' }
  const options = { cwd, env }
  /** @param {readonly string[]} command */
  const inside = ([program = '', ...args]) => confined(user, dataDir, program, args)
  checkConfinement(inside, cwd, options)
  const entrypoint = commandOf(lastOf(stage, 'ENTRYPOINT'))
  const [program = '', ...args] = inside([...entrypoint, ...commandOf(lastOf(stage, 'CMD'))])
  const refused = spawnSync(program, args, { ...options, env: { ...env, HOST: settings.HOST ?? '' }, encoding: 'utf8' })
  if (refused.status !== 78 || !refused.stderr.includes('ISSUER'))
    throw new Error('Without ISSUER it has to be refused.')
  const [health = '', ...healthArgs] = inside(commandOf(lastOf(stage, 'HEALTHCHECK')))
  const isHealthy = () => spawnSync(health, healthArgs, options).status === 0
  if (isHealthy()) throw new Error('It is healthy before it runs.')
  const server = spawn(program, args, { ...options, stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = new Promise((resolve) => server.once('exit', (code, signal) => resolve(code ?? signal)))
  const end = performance.now() + READY_MS
  while (!isHealthy())
    if (performance.now() > end || server.exitCode !== null) throw new Error('It does not become healthy.')
  const page = await (await fetch(`http://127.0.0.1:${port}/`)).text()
  if (!page.includes('<div id="root">')) throw new Error('It has no dashboard.')
  const [doctor = '', ...doctorArgs] = inside([...entrypoint, 'doctor'])
  must(doctor, doctorArgs, options)
  server.kill('SIGTERM')
  const code = await ended
  if (code !== 0) throw new Error(`It ended with ${code}.`)
}

/**
 * How the image runs as Kubernetes and the compose file run it: as its user, without privileges, and with nothing to write into
 * but the data directory. Every mount is made read-only in a namespace of the process.
 * @param {{ uid: number, gid: number }} user
 * @param {string} dataDir
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {[string, ...string[]]}
 */
function confined({ uid, gid }, dataDir, program, args) {
  if (!IS_ROOT) return [program, ...args]
  const ids = `--reuid=${uid} --regid=${gid} --clear-groups`
  const script = `mount --bind "$0" "$0"
for at in / /tmp /var/tmp /dev/shm "$1"; do mountpoint --quiet "$at" && mount -o remount,bind,ro "$at"; done
shift
exec setpriv ${ids} --no-new-privs --bounding-set=-all --inh-caps=-all "$@"`
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, dataDir, tmpdir(), program, ...args]
}

/**
 * @param {(command: readonly string[]) => string[]} inside
 * @param {string} cwd
 * @param {import('node:child_process').SpawnSyncOptions} options
 */
function checkConfinement(inside, cwd, options) {
  if (!IS_ROOT) return console.log('Only root can make the file system read-only: this check runs without that.')
  for (const place of [cwd, '/tmp', '/dev/shm']) {
    const write = `require('node:fs').writeFileSync(${JSON.stringify(join(place, 'written'))}, '')`
    const [program = '', ...args] = inside([process.execPath, '-e', write])
    const { status, stderr } = spawnSync(program, args, { ...options, encoding: 'utf8' })
    if (status === 0 || !`${stderr}`.includes('EROFS')) throw new Error(`${place} can be written: ${stderr}`)
  }
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
