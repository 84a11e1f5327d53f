/** The server as it is shipped, as a process of its own on a free port, with data that go when it ends. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { Operator, type RealDecisionPoint } from './operator.js'

const SERVER = fileURLToPath(new URL('../../../../server/bin/countersign.js', import.meta.url))
const WITH_ITS_STARTER = new URL('ending-with-its-starter.js', import.meta.url).href

/** With the key that the server has made at its start. */
export interface StartedDecisionPoint extends RealDecisionPoint {
  stop(): Promise<void>
}

/** On MongoDB where `MONGODB_URL` says so, in a database of its own; `env` is added to the environment of the process. */
export async function startDecisionPoint(env: NodeJS.ProcessEnv = {}): Promise<StartedDecisionPoint> {
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-point-'))
  const databaseUrl = databaseFor(dataDir)
  const child = spawn(process.execPath, ['--import', WITH_ITS_STARTER, SERVER, 'serve'], {
    env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: dataDir, MONGODB_URL: databaseUrl, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
    rmSync(dataDir, { recursive: true, force: true })
    if (databaseUrl !== '') await dropDatabase(databaseUrl)
  }
  try {
    const url = await announcedUrl(child)
    // A test process ends although this one runs.
    for (const handle of [child, child.stdin, child.stdout]) (handle as ChildProcess | Socket).unref()
    return { url, apiKey: readFileSync(join(dataDir, 'bootstrap-key'), 'utf8').trim(), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The one of the test files that share this process. */
let shared: Promise<StartedDecisionPoint> | null = null

/**
 * One for all tests of a file, with a key of it that may do everything. Files that share a process share it, so each file
 * needs actions and agents of its own. On MongoDB each file has its own: its database goes with the file.
 */
export function useDecisionPoint(): () => RealDecisionPoint {
  const isShared = databaseFor('') === ''
  let point: StartedDecisionPoint
  let real: RealDecisionPoint
  beforeAll(async () => {
    if (isShared) shared ??= startDecisionPoint()
    point = await (shared ?? startDecisionPoint())
    real = { url: point.url, apiKey: await new Operator(point).makeKey(['*']) }
  }, 60_000)
  afterAll(async () => {
    if (!isShared) await point.stop()
  })
  return () => real
}

/** With `MONGODB_URL` a database of its own on that server; else none. */
function databaseFor(dataDir: string): string {
  const url = process.env.MONGODB_URL ?? ''
  return url.replace(/^([^/]*\/\/[^/?]*)\/?[^?]*/, `$1/${basename(dataDir)}`)
}

async function dropDatabase(url: string): Promise<void> {
  const { MongoClient } = await import('mongodb')
  const client = new MongoClient(url)
  await client.db().dropDatabase()
  await client.close()
}

async function announcedUrl(child: ChildProcessByStdio<Writable, Readable, null>): Promise<string> {
  for await (const line of createInterface({ input: child.stdout })) {
    const { url } = JSON.parse(line) as { url?: string }
    if (url === undefined) continue
    child.stdout.resume()
    return url
  }
  throw new Error('the decision point ended before it was ready')
}
