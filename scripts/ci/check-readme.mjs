/**
 * Does what a reader of the README does: `npm start`, then every other command of the page against that server, twice, then
 * SIGTERM; once more with the guides of docs/; and once more on a terminal, where the printed curl must work as it is
 * and Ctrl-C must end the server. With `MONGODB_URL` on MongoDB, and without the guides.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../free-port.mjs'
import { prepare } from '../prepare.mjs'
import { asScript, commandBlocks, differencesFrom, outputsOf, readmeCommands } from './readme.mjs'
import { CTRL_C, expectExit, onTerminal, outputOf, printedCurl } from './terminal.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** A checkout that is prepared already starts in about 2 s; the rest is for a busy machine. */
const READY_WITHIN_MS = 6_000
/** What is printed when the server is ready. */
const PRINTED_WITHIN_MS = 5_000
/**
 * @typedef {import('node:child_process').ChildProcessWithoutNullStreams} Child
 * @typedef {{ port: number, dataFolder: string, child: Child, output: () => string }} Server
 */

/** Read in this order, on one server; the first command of the first of them is what the others presuppose. */
const GUIDES = [
  'docs/get-started.md',
  'docs/decisions.md',
  'docs/tracing.md',
  'docs/agents.md',
  'docs/audit.md',
  'docs/siem.md',
  'docs/audit-proofs.md',
  'docs/erase-requests.md',
  'docs/events.md',
  'docs/webhooks.md',
  'docs/statistics.md',
  'docs/budgets.md',
  'docs/lifecycle.md',
  'docs/reviews.md',
  'docs/permits.md',
  'docs/sdk.md',
  'docs/sdk-methods.md',
  'docs/enforcement.md',
  'docs/settlement.md',
  'docs/express.md',
  'docs/express-permits.md',
  'docs/langchain.md',
  'docs/langchain-guards.md',
  'docs/mcp-server.md',
  'docs/mcp.md',
  'docs/embedding.md',
  'docs/runbooks.md',
]

// The steps before this one build in ways of their own, and the first build is not what is timed here.
await prepare(ROOT, 'tests')
const { start, others } = readmeCommands(readFileSync(join(ROOT, 'README.md'), 'utf8'))

await withServer(['bash', '-c', start], async ({ port, dataFolder, child, output }) => {
  runBlocks('README.md', others, { port, dataFolder })
  runAgain('README.md', others, { port, dataFolder })
  child.kill('SIGTERM')
  await expectExit(child, 0)
  const key = readFileSync(join(dataFolder, 'bootstrap-key'), 'utf8').trim()
  if (key === '' || output().includes(key)) throw new Error('The bootstrap key was printed without a terminal')
})

if (!process.env.MONGODB_URL) await withServer(['bash', '-c', start], runGuides)

await withServer(onTerminal(start), async ({ port, dataFolder, child, output }) => {
  const curl = await printedCurl(output, PRINTED_WITHIN_MS)
  const [answer = ''] = outputsOf(runScript(asScript([curl], { port, dataFolder })))
  console.log(`The printed curl was answered with ${answer}`)
  if (JSON.parse(answer).effect !== 'deny') throw new Error('Without any policy the answer has to be a deny')
  child.stdin.write(CTRL_C)
  await expectExit(child, 0)
})

/** @param {Server} server */
async function runGuides({ port, dataFolder, child }) {
  const [guide = [], ...more] = GUIDES.map((page) => commandBlocks(readFileSync(join(ROOT, page), 'utf8')))
  const setUp = guide.slice(0, 1).map(({ command }) => ({ command, outcome: null }))
  const pages = [guide, ...more.map((blocks) => [...setUp, ...blocks])]
  for (const run of [runBlocks, runAgain]) {
    for (const [i, blocks] of pages.entries()) run(GUIDES[i] ?? '', blocks, { port, dataFolder })
  }
  child.kill('SIGTERM')
  await expectExit(child, 0)
}

/**
 * Runs the commands of a page in order and compares what they print with what the page says.
 * @param {string} page
 * @param {import('./readme.mjs').Block[]} blocks
 * @param {{ port: number, dataFolder: string }} server
 */
function runBlocks(page, blocks, server) {
  const commands = blocks.map(({ command }) => command)
  const outputs = outputsOf(runScript(asScript(commands, server)))
  const faults = blocks.flatMap(({ command, outcome }, i) => {
    const found = outcome === null ? [] : differencesFrom(outcome, outputs[i] ?? '')
    return found.map((difference) => `${difference}\n  printed by ${command}`)
  })
  if (faults.length > 0) throw new Error(`${page} says something else:\n${faults.join('\n')}`)
  const compared = blocks.filter(({ outcome }) => outcome !== null).length
  console.log(`${page}: ran ${blocks.length} commands, ${compared} with the outcome that the page states`)
}

/**
 * Runs the commands of a page a second time, as a reader does who comes back: each works, but a policy is a revision further,
 * and a budget has what the first time left.
 * @param {string} page
 * @param {import('./readme.mjs').Block[]} blocks
 * @param {{ port: number, dataFolder: string }} server
 */
function runAgain(page, blocks, server) {
  const commands = blocks.map(({ command }) => command)
  runScript(asScript(commands, server))
  console.log(`${page}: ran ${blocks.length} commands again`)
}

/**
 * @param {string[]} command
 * @param {(server: Server) => Promise<void>} work
 */
async function withServer([program = '', ...args], work) {
  const port = await freePort()
  const dataFolder = mkdtempSync(join(tmpdir(), 'countersign-readme-'))
  const started = performance.now()
  const env = { ...process.env, ...databaseFor(dataFolder), PORT: `${port}`, DATA_DIR: dataFolder }
  const child = spawn(program, args, { cwd: ROOT, env })
  const output = outputOf(child)
  try {
    await untilReady(port, child)
    const milliseconds = Math.round(performance.now() - started)
    console.log(`${program}: ready after ${milliseconds} ms`)
    if (milliseconds > READY_WITHIN_MS) throw new Error(`Not ready within ${READY_WITHIN_MS} ms`)
    await work({ port, dataFolder, child, output })
  } catch (error) {
    console.log(output())
    throw error
  } finally {
    child.kill('SIGTERM')
    rmSync(dataFolder, { recursive: true, force: true })
  }
}

/**
 * With `MONGODB_URL` each server has a database of its own there.
 * @param {string} dataFolder
 */
function databaseFor(dataFolder) {
  const url = process.env.MONGODB_URL
  return url ? { MONGODB_URL: url.replace(/^([^/]*\/\/[^/?]*)\/?[^?]*/, `$1/${basename(dataFolder)}`) } : {}
}

/**
 * @param {number} port
 * @param {Child} child
 */
async function untilReady(port, child) {
  while (
    !(await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`The server ended with exit code ${child.exitCode}`)
    await pause(50)
  }
}

/**
 * @param {string} script
 * @returns {string} what it printed
 */
function runScript(script) {
  const env = { ...process.env, PATH: `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env.PATH}` }
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    cwd: ROOT,
    encoding: 'utf8',
    env,
  })
  if (status === 0) return stdout
  throw new Error(`exit code ${status} of\n${script}\n${stdout}\n${stderr}`)
}
