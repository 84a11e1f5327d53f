/**
 * `npm run demo`: a server with a data directory of its own, in which a company works with agents: policies, a budget near its
 * limit, two reviews that wait, and traffic until it is stopped. Prepares the checkout, then becomes the server.
 */
import { setMaxListeners } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setUp, work } from './demo/company.mjs'
import { prepare } from './prepare.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Only for the tests of this script. */
const dataDir = process.env.DEMO_DATA_DIR || join(root, 'data-demo')
/** Says that a directory is one of the demo, and may be emptied. */
const MARK = 'emptied-by-npm-run-demo'
const POLL_MS = 50

await prepare(root, 'server')
const { isFileLocked } = await load('server/dist/durable-files/file-lock.js')
const { Countersign } = await load('packages/client/dist/index-node.js')

emptyDataDirectory()
const port = process.env.PORT || '8787'
// The demo is for the browser of this machine, and has no data of others.
for (const name of ['ISSUER', 'PERMIT_AUDIENCE', 'MONGODB_URL', 'COUNTERSIGN_BOOTSTRAP_KEY']) delete process.env[name]
Object.assign(process.env, { HOST: '127.0.0.1', PORT: port, DATA_DIR: dataDir })

const stop = new AbortController()
// Each action that is under way listens for it.
setMaxListeners(0, stop.signal)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())

const entry = 'server/bin/countersign.js'
process.argv = [process.execPath, join(root, entry), 'serve']
// It ends when the server has, and then there is nothing more to ask.
const served = load(entry).finally(() => stop.abort())
await fill().catch((error) => {
  if (stop.signal.aborted) return
  say(`The demo ends: ${error.message}`)
  process.exitCode = 1
  process.kill(process.pid, 'SIGTERM')
})
await served

async function fill() {
  const baseUrl = `http://127.0.0.1:${port}`
  const keyFile = join(dataDir, 'bootstrap-key')
  // Only the server of this data directory makes the file: another one may have the port.
  while (!existsSync(keyFile) || !(await isReady(baseUrl))) {
    await pause(POLL_MS, undefined, { signal: stop.signal })
  }
  /** @param {string} apiKey */
  const connect = (apiKey) => {
    const client = new Countersign({ baseUrl, apiKey })
    stop.signal.addEventListener('abort', () => client.close())
    return client
  }
  const admin = connect(readFileSync(keyFile, 'utf8').trim())
  const company = await setUp(admin, connect)
  say('A company with agents, policies, a budget near its limit, and two reviews that wait for you.')
  say(`Its agents work until you stop it. ${shown(dataDir)} is emptied at each start.\n`)
  await work(company, stop.signal)
}

/** @param {string} baseUrl */
function isReady(baseUrl) {
  return fetch(`${baseUrl}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
}

function emptyDataDirectory() {
  const found = existsSync(dataDir) ? readdirSync(dataDir) : []
  if (found.length > 0 && !found.includes(MARK))
    refuse(`${shown(dataDir)} has other data than those of the demo. Move it away.`)
  if (isFileLocked(join(dataDir, 'lock'))) refuse('The demo runs already. Stop it first.')
  rmSync(dataDir, { recursive: true, force: true })
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  writeFileSync(join(dataDir, MARK), '')
}

/** @param {string} path below the root */
function load(path) {
  return import(pathToFileURL(join(root, path)).href)
}

/** @param {string} path */
function shown(path) {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : `${short}/`
}

/** @param {string} reason */
function refuse(reason) {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

/** Standard output belongs to the server. @param {string} line */
function say(line) {
  process.stderr.write(`  Demo       ${line}\n`)
}
