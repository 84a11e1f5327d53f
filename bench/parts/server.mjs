import { spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
const START_MS = 30_000

/** Of every server that is started here. */
export const KEY = 'a-key-for-the-bench-of-more-than-32-characters'

/**
 * Starts the shipped server in a process of its own.
 *
 * @param directory where its data and its log go
 * @param env settings besides
 * @param checkout whose server, built
 * @returns {Promise<{ port: number, pid: number, child: import('node:child_process').ChildProcess }>} once it is ready
 */
export async function startServer(directory, env = {}, checkout = CHECKOUT) {
  const logPath = join(directory, 'log')
  const log = openSync(logPath, 'w')
  const settings = {
    LOG_LEVEL: 'info',
    PORT: '0',
    DATA_DIR: join(directory, 'data'),
    COUNTERSIGN_BOOTSTRAP_KEY: KEY,
    RATE_LIMIT_PER_SECOND: '0',
  }
  const program = join(checkout, 'server/bin/countersign.js')
  const args = [...(process.env.SERVER_FLAGS ?? '').split(' ').filter(Boolean), program, 'serve']
  const child = spawn(process.execPath, args, {
    env: { ...process.env, MONGODB_URL: '', ...settings, ...env },
    stdio: ['ignore', log, 'inherit'],
  })
  const deadline = performance.now() + START_MS
  for (;;) {
    const [, port] = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(readFileSync(logPath, 'utf8')) ?? []
    if (port !== undefined) return { port: Number(port), pid: child.pid, child }
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill()
      throw new Error('The server did not start.')
    }
    await pause(20)
  }
}

/** Gives a server its policies, several at a time. */
export async function writePolicies(port, policies) {
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
  const left = [...policies]
  const write = async () => {
    for (let policy = left.pop(); policy !== undefined; policy = left.pop()) {
      const url = `http://127.0.0.1:${port}/v1/policies`
      const res = await fetch(url, { method: 'POST', headers, body: JSON.stringify(policy) })
      if (res.status !== 201) throw new Error(await res.text())
      await res.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: 16 }, write))
}
