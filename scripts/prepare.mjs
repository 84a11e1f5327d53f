/**
 * Makes a checkout ready for what is asked of it: installs and builds what is missing or stale, and nothing when nothing is.
 * `node scripts/prepare.mjs <goal>` does it alone.
 *
 * Runs before anything is installed, so it uses what Node brings along only. Its lines and the output of a failed
 * command go to stderr: stdout belongs to the program that starts afterwards.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtFiles, fingerprintOf, installedAsLocked, installedHash, lockHash, sourceFiles } from './freshness.mjs'
import { withLock } from './lock.mjs'

const OLDEST_NODE = { major: 20, minor: 19 }

/**
 * What each goal needs. The server needs neither the tools of the tests and checks nor what only integrations are tested with.
 * `packages` is what `npm run pack` publishes: with types, where the others build the JavaScript alone.
 * @satisfies {Record<string, { install: 'server' | 'everything', build?: 'programs' | 'packages' }>}
 */
const GOALS = /** @type {const} */ ({
  server: { install: 'server', build: 'programs' },
  tools: { install: 'everything' },
  tests: { install: 'everything', build: 'programs' },
  packages: { install: 'everything', build: 'packages' },
})
/** What `npm start` installs: the server, its pages, and the integrations that need nothing else. */
const SERVER = ['server', 'packages/dashboard', 'integrations/express', 'integrations/mcp']

/**
 * @typedef {keyof typeof GOALS} Goal
 * @typedef {[program: string, ...args: string[]]} Command the program `node` stands for the Node that runs this
 * @typedef {{ server: Command, everything: Command, rest: Command, programs: Command, packages: Command }} Commands `rest`: what
 *   `everything` has and `server` has not
 */

// The build needs its tools, whatever NODE_ENV or the settings of npm leave out.
const NPM_FLAGS = ['--include=dev', '--ignore-scripts', '--no-audit', '--no-fund']

/** @type {Commands} */
export const COMMANDS = {
  server: ['npm', 'ci', ...SERVER.map((folder) => `--workspace=${folder}`), ...NPM_FLAGS],
  everything: ['npm', 'ci', ...NPM_FLAGS],
  // It takes nothing away: a server that was started before may run.
  rest: ['npm', 'install', '--no-save', ...NPM_FLAGS],
  programs: ['node', 'scripts/build.mjs'],
  packages: ['npx', '--no', '--', 'turbo', 'run', 'build:packages'],
}

/**
 * Installs and builds in `root` where needed. Ends the process with exit code 1 when that fails.
 * @param {string} root absolute path of the checkout
 * @param {Goal} goal
 * @param {Commands} [commands]
 */
export async function prepare(root, goal, commands = COMMANDS) {
  refuseOldNode(process.versions.node)
  /** @type {{ install: 'server' | 'everything', build?: 'programs' | 'packages' }} */
  const { install, build } = GOALS[goal]
  const isReady = () => isInstalled(root, install) && (build === undefined || isBuilt(root, build))
  if (isReady()) return
  await withLock(join(root, '.prepare.lock'), say, async () => {
    if (!isInstalled(root, install)) {
      const hasServer = install === 'everything' && isInstalled(root, 'server')
      await run('Installing packages', root, commands[hasServer ? 'rest' : install])
      writeStamp(installStamp(root), `${install} ${installedState(root)}`)
    }
    if (build !== undefined && !isBuilt(root, build)) {
      const sources = fingerprintOf(root, sourceFiles(root), 'content')
      rmSync(buildStamp(root), { force: true })
      await run('Building', root, commands[build])
      writeStamp(buildStamp(root), `${build} ${sources} ${fingerprintOf(root, builtFiles(root), 'state')}`)
    }
  })
}

/**
 * Installs what a folder with a lock file of its own needs. Ends the process with exit code 1 when that fails.
 * @param {string} folder absolute path
 * @param {Command} [command]
 */
export async function prepareFolder(folder, command = COMMANDS.everything) {
  if (isInstalled(folder, 'everything')) return
  await withLock(join(folder, '.prepare.lock'), say, async () => {
    if (isInstalled(folder, 'everything')) return
    await run(`Installing packages of ${basename(folder)}`, folder, command)
    writeStamp(installStamp(folder), `everything ${installedState(folder)}`)
  })
}

/** @param {string} version such as `20.19.0` */
function refuseOldNode(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > OLDEST_NODE.major || (major === OLDEST_NODE.major && minor >= OLDEST_NODE.minor)) return
  say(`Countersign needs Node ${OLDEST_NODE.major}.${OLDEST_NODE.minor} or newer; this is Node ${version}.`)
  process.exit(1)
}

/** @param {string} root */
const installStamp = (root) => join(root, 'node_modules', '.countersign', 'installed')

/** @param {string} root */
const buildStamp = (root) => join(root, 'node_modules', '.countersign', 'built')

/**
 * @param {string} root
 * @param {'server' | 'everything'} what
 */
function isInstalled(root, what) {
  const state = installedState(root)
  const stamp = readStamp(installStamp(root))
  if (stamp === `everything ${state}` || stamp === `${what} ${state}`) return true
  if (!installedAsLocked(root)) return false
  writeStamp(installStamp(root), `everything ${state}`)
  return true
}

/**
 * What was installed, and what npm itself has recorded of it: an installation without the tools of the build is another.
 * @param {string} root
 */
const installedState = (root) => `${lockHash(root)} ${installedHash(root)}`

/**
 * Packages are programs, too.
 * @param {string} root
 * @param {'programs' | 'packages'} what
 */
function isBuilt(root, what) {
  const [kind, sources, built] = readStamp(buildStamp(root))?.split(' ') ?? []
  return (
    (kind === 'packages' || kind === what) &&
    sources === fingerprintOf(root, sourceFiles(root), 'content') &&
    built === fingerprintOf(root, builtFiles(root), 'state')
  )
}

/** @param {string} file */
function readStamp(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * @param {string} file
 * @param {string} content
 */
function writeStamp(file, content) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/**
 * Runs a command of the set-up, showing one line with the time it took, or all it printed when it failed.
 * @param {string} title
 * @param {string} root
 * @param {Command} command
 */
async function run(title, root, [program, ...args]) {
  const started = performance.now()
  process.stderr.write(`${title} … `)
  const { code, output } = await outputOf(program === 'node' ? process.execPath : program, args, root)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  if (code === 0) return say(`${seconds} s`)
  say(`failed after ${seconds} s\n${output}\n${title} failed: ${[program, ...args].join(' ')}`)
  process.exit(1)
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {string} cwd
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function outputOf(program, args, cwd) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    })
    const stop = endWith(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text
      })
    }
    child.once('error', (error) => {
      output += error.message
    })
    child.once('close', (code) => {
      stop()
      resolve({ code, output })
    })
  })
}

/**
 * Hands the signals that end this process on to the child, waits for nothing more and exits as a shell would say it.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {() => void} takes the handlers away again
 */
function endWith(child) {
  const codes = { SIGINT: 130, SIGTERM: 143 }
  const handlers = Object.entries(codes).map(([signal, code]) => {
    const handler = () => {
      child.kill(/** @type {NodeJS.Signals} */ (signal))
      child.once('close', () => process.exit(code))
    }
    process.once(signal, handler)
    return () => process.removeListener(signal, handler)
  })
  return () => {
    for (const remove of handlers) remove()
  }
}

/** @param {string} line */
function say(line) {
  process.stderr.write(`${line}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const goal = process.argv[2] ?? 'tests'
  if (!(goal in GOALS)) throw new Error(`There is no goal ${goal}, only ${Object.keys(GOALS).join(', ')}`)
  await prepare(fileURLToPath(new URL('..', import.meta.url)), /** @type {Goal} */ (goal))
}
