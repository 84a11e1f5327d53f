/**
 * Types what the pages say, in an empty folder with an empty cache of npm, on the Node of the PATH:
 * node scripts/ci/newcomer.mjs doors|programs <registry>
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { freePort } from '../free-port.mjs'
import { asScript, commandBlocks, differencesFrom, outputsOf } from './readme.mjs'
import { CTRL_C, expectExit, onTerminal, outputOf, printedCurl } from './terminal.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** From the command to the first decision: three times the 30 s that the page promises. The check prints what it took. */
const FIRST_DECISION_WITHIN_MS = 90_000
/** A longer start is a fault by itself; until then the check says how long it took. */
const PATIENCE_MS = 240_000
const ENDS_WITHIN_MS = 10_000
/** The pages of those who write a program, with what each has to print. Express has its own way below. */
const PAGES = ['packages/client', 'integrations/langchain', 'integrations/mcp']
/** A key that only the reader has. */
const PLACEHOLDER = 'cs_sk_…'

const [part = '', registry = ''] = process.argv.slice(2)
const home = mkdtempSync(join(tmpdir(), 'countersign-newcomer-'))
const port = await freePort()
const install = commandBlocks(readFileSync(join(ROOT, 'docs/install.md'), 'utf8'), { isReader: true })
const [start, ...others] = install
/** @type {Record<string, string>} */
const env = {
  PATH: process.env.PATH ?? '',
  HOME: home,
  PORT: `${port}`,
  npm_config_registry: registry,
  npm_config_cache: join(home, 'npm-cache'),
  npm_config_update_notifier: 'false',
}

try {
  await withServer(part === 'doors' ? checkDoors : checkPrograms)
} finally {
  // What npm had begun when something failed ends by itself.
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
}

/** @typedef {{ folder: string, key: string, answer: string }} Started */

/**
 * Runs the first command of docs/install.md on a terminal, the curl that the server prints, and then the work. Ctrl-C ends the server.
 * @param {(started: Started) => Promise<void>} work
 */
async function withServer(work) {
  const folder = emptyFolder('server')
  const began = performance.now()
  const [program, ...args] = onTerminal(start?.command ?? '')
  const child = spawn(program, args, { cwd: folder, env })
  const output = outputOf(child)
  try {
    const curl = await printedCurl(output, PATIENCE_MS)
    const answer = run(curl, folder, {})
    const milliseconds = performance.now() - began
    const { effect, reason_code } = JSON.parse(answer)
    if (effect !== 'deny' || reason_code !== 'no_matching_policy') throw new Error(`Without a policy: ${answer}`)
    console.log(
      `Node ${nodeVersion()}: the first decision ${(milliseconds / 1000).toFixed(1)} s after "${start?.command}" in an empty folder`,
    )
    if (milliseconds > FIRST_DECISION_WITHIN_MS) throw new Error('That took too long')
    if (!output().includes(join(folder, 'data'))) throw new Error('The server does not say where its data are')
    const key = readFileSync(join(folder, 'data', 'bootstrap-key'), 'utf8').trim()
    await work({ folder, key, answer })
    child.stdin.write(CTRL_C)
    // The server ends with 0; npx says by its own code that it was interrupted.
    await expectExit(child, 0, 130)
    await untilRefused()
  } catch (error) {
    console.log(output())
    throw error
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
  }
}

/** npx may end before the server that it started. */
async function untilRefused() {
  const end = performance.now() + ENDS_WITHIN_MS
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      () => true,
      () => false,
    )
  while (await answers()) if (performance.now() > end) throw new Error('Ctrl-C does not end the server')
}

/**
 * The rest of docs/install.md; the last command speaks MCP.
 * @param {Started} started
 */
async function checkDoors({ folder, key }) {
  const proxied = others.at(-1)?.command ?? ''
  runPage('docs/install.md', others.slice(0, -1), folder, {})
  const words = proxied.split(' ')
  const transport = new StdioClientTransport({
    ...{ command: words[0] ?? '', args: words.slice(1), cwd: folder, stderr: 'inherit' },
    env: { ...env, COUNTERSIGN_URL: `http://127.0.0.1:${port}`, COUNTERSIGN_API_KEY: key },
  })
  const client = new Client({ name: 'newcomer', version: '1.0.0' })
  await client.connect(transport)
  const path = join(folder, 'notes', 'todo.txt')
  const read = await client.callTool({ name: 'read_text_file', arguments: { path } })
  const moved = await client.callTool({ name: 'move_file', arguments: { source: path, destination: `${path}.old` } })
  await client.close()
  if (!JSON.stringify(read.content).includes('water the plants')) throw new Error(JSON.stringify(read))
  if (!moved.isError || !existsSync(path)) throw new Error(`The agent moved a file: ${JSON.stringify(moved)}`)
  console.log('docs/install.md: an agent read a file through the proxy, and was refused to move it')
}

/**
 * Each page in a folder of its own, with the server of docs/install.md.
 * @param {Started} started
 */
async function checkPrograms({ key }) {
  const server = { COUNTERSIGN_URL: `http://127.0.0.1:${port}`, COUNTERSIGN_API_KEY: key }
  for (const page of PAGES) {
    const blocks = blocksOf(page).filter(({ command }) => !command.startsWith('countersign'))
    runPage(`${page}/README.md`, blocks, emptyFolder(page.replace('/', '-')), server)
  }
  await checkExpress(server)
}

/**
 * The page names two files; its app listens until it is ended.
 * @param {Record<string, string>} server
 */
async function checkExpress(server) {
  const page = 'integrations/express'
  const folder = emptyFolder('express')
  const programs = readFileSync(join(ROOT, page, 'README.md'), 'utf8')
    .split('```js\n')
    .slice(1)
  for (const [i, name] of ['policy.mjs', 'app.mjs'].entries())
    writeFileSync(join(folder, name), programs[i]?.split('```')[0] ?? '')
  const commands = blocksOf(page).map(({ command }) => command)
  const [installs = '', refunds = ''] = ['npm install', 'refund()'].map((word) =>
    commands.find((command) => command.startsWith(word)),
  )
  run(`${pinned(installs)}\nnode policy.mjs`, folder, server)
  const appPort = await freePort()
  const app = spawn('node', ['app.mjs'], { cwd: folder, env: { ...env, ...server, PORT: `${appPort}` } })
  const exited = once(app, 'exit')
  await once(app.stdout, 'data')
  const answers = run(refunds.replaceAll(':3000', `:${appPort}`), folder, server)
  app.kill()
  await exited
  const found = ['"refunded":"17"', '"code":"review_required"', '"code":"denied"'].filter((part) =>
    answers.includes(part),
  )
  if (found.length !== 3) throw new Error(`${page}/README.md says something else than ${answers}`)
  console.log(`${page}/README.md: installed, and the app answered its three calls as the page says`)
}

/**
 * @param {string} page a folder with a README
 * @returns {import('./readme.mjs').Block[]}
 */
function blocksOf(page) {
  const text = readFileSync(join(ROOT, page, 'README.md'), 'utf8')
  return commandBlocks(text, { isReader: true })
    .map(({ command, outcome }) => ({
      command: command.replace(new RegExp(`^export .*${PLACEHOLDER}$`, 'm'), '').trim(),
      outcome,
    }))
    .filter(({ command }) => command !== '')
}

/**
 * @param {string} page
 * @param {import('./readme.mjs').Block[]} blocks
 * @param {string} folder
 * @param {Record<string, string>} more
 */
function runPage(page, blocks, folder, more) {
  const began = performance.now()
  const dataFolder = join(home, 'server', 'data')
  const commands = blocks.map(({ command }) => (command.startsWith('npm install') ? pinned(command) : command))
  const outputs = outputsOf(run(asScript(commands, { port, dataFolder }), folder, more))
  const faults = blocks.flatMap(({ command, outcome }, i) => {
    const found = outcome === null ? [] : differencesFrom(outcome, outputs[i] ?? '')
    return found.map((difference) => `${difference}\n  printed by ${command}`)
  })
  if (faults.length > 0) throw new Error(`${page} says something else:\n${faults.join('\n')}`)
  const compared = blocks.filter(({ outcome }) => outcome !== null).length
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(
    `${page}: ran ${blocks.length} commands in ${seconds} s, ${compared} with the outcome that the page states`,
  )
}

/**
 * The command with the versions of this checkout for what is not ours: a release of theirs does not fail a check of ours.
 * @param {string} command
 */
function pinned(command) {
  return command.replaceAll(/(?<= )(?!@countersign\/|#|-)(@[\w-]+\/)?[a-z][\w-]*(?= |$)/gm, (name) => {
    const manifest = ['.', 'integrations/langchain', 'integrations/mcp', 'integrations/express', 'server']
      .map((folder) => join(ROOT, folder, 'node_modules', name, 'package.json'))
      .find(existsSync)
    return manifest ? `${name}@${JSON.parse(readFileSync(manifest, 'utf8')).version}` : name
  })
}

/**
 * @param {string} script
 * @param {string} cwd
 * @param {Record<string, string>} more
 * @returns {string} what it printed
 */
function run(script, cwd, more) {
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    cwd,
    encoding: 'utf8',
    env: { ...env, ...more },
  })
  if (status === 0) return stdout
  throw new Error(`exit code ${status} of\n${script}\n${stdout}\n${stderr}`)
}

/** @param {string} name */
function emptyFolder(name) {
  const folder = join(home, name)
  mkdirSync(folder)
  return folder
}

function nodeVersion() {
  return spawnSync('node', ['--version'], { env, encoding: 'utf8' }).stdout.trim().slice(1)
}
