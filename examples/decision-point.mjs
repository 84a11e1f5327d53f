/** A decision point of its own for a story: the shipped server as a child process, on a free port, in a folder that goes when it ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const COUNTERSIGN = fileURLToPath(new URL('../server/bin/countersign.js', import.meta.url))

/**
 * Resolves once it answers. `stop` ends it and removes what it stored.
 *
 * @param {Record<string, string>} [settings] as the environment gives them
 * @returns {Promise<{ url: string, apiKey: string, stop: () => Promise<void> }>}
 */
export async function startDecisionPoint(settings = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-example-'))
  const child = spawn(process.execPath, [COUNTERSIGN, 'serve'], {
    env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: dataDir, ...databaseFor(dataDir), ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    rmSync(dataDir, { recursive: true, force: true })
  }
  try {
    const url = await announcedUrl(child.stdout)
    return { url, apiKey: readFileSync(join(dataDir, 'bootstrap-key'), 'utf8').trim(), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * With `MONGODB_URL` a story has a new database of its own on that server.
 *
 * @param {string} dataDir
 */
function databaseFor(dataDir) {
  const url = process.env.MONGODB_URL
  return url ? { MONGODB_URL: url.replace(/^([^/]*\/\/[^/?]*)\/?[^?]*/, `$1/${basename(dataDir)}`) } : {}
}

/**
 * Not on a terminal the server says in one JSON line where it listens.
 *
 * @param {import('node:stream').Readable} stdout
 * @returns {Promise<string>}
 */
async function announcedUrl(stdout) {
  const lines = createInterface({ input: stdout })
  for await (const line of lines) {
    const { url } = JSON.parse(line)
    if (url === undefined) continue
    stdout.resume()
    return url
  }
  throw new Error('The decision point ended before it was ready.')
}
