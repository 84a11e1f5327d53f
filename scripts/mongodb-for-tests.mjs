/** Finds or starts a MongoDB for tests. What it starts ends with this process. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from './free-port.mjs'

const WIRE = fileURLToPath(new URL('../tools/mongodb-wire/start', import.meta.url))

/**
 * `MONGODB_URL`; else a `mongod` on the PATH, as a replica set of one in a temporary folder; else the server of
 * `tools/mongodb-wire`; else it ends this process and says what to do.
 * @returns {Promise<string>} its URL
 */
export async function mongodbForTests() {
  const url = process.env.MONGODB_URL || (await startMongod()) || (await startWireServer()) || refuse()
  console.log(`MongoDB at ${url.replace(/\/\/[^@/]*@/, '//')}`)
  return url
}

/** @returns {Promise<string | null>} */
async function startMongod() {
  if (!isCommand('mongod')) return null
  const { MongoClient } = await import('mongodb')
  const folder = mkdtempSync(join(tmpdir(), 'countersign-mongod-'))
  const port = await freePort()
  const args = ['--replSet', 'test', '--dbpath', folder, '--port', `${port}`, '--bind_ip', '127.0.0.1']
  const server = spawn('mongod', args, { stdio: 'ignore' })
  process.on('exit', () => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  const direct = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`)
  const members = [{ _id: 0, host: `127.0.0.1:${port}` }]
  await direct.db('admin').command({ replSetInitiate: { _id: 'test', members } })
  await direct.close()
  return `mongodb://127.0.0.1:${port}/?replicaSet=test`
}

/** @returns {Promise<string | null>} */
async function startWireServer() {
  if (!isCommand('java') || !isCommand('mvn')) return null
  // It ends when its standard input closes, so when this process ends, however it ends.
  const server = spawn(WIRE, [], { stdio: ['pipe', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: server.stdout })) {
    if (!line.startsWith('mongodb://')) continue
    server.unref()
    for (const stream of [server.stdin, server.stdout]) /** @type {import('node:net').Socket} */ (stream).unref()
    return line
  }
  return null
}

/** @returns {never} */
function refuse() {
  console.error(
    'There is no MongoDB to test on. Set MONGODB_URL to a server whose databases may be made and dropped, or put mongod ' +
      'on the PATH, or install Java 17 and Maven (openjdk-17-jdk-headless maven) for the test server in tools/mongodb-wire.',
  )
  process.exit(1)
}

/** @param {string} name */
function isCommand(name) {
  return spawnSync('sh', ['-c', `command -v ${name}`]).status === 0
}
