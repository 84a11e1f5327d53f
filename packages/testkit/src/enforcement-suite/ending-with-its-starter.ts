/**
 * Loaded into a server before its own code: when the process that started it has gone, however it ended, the server ends as
 * its operator would end it, and its data go.
 */
import { rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const starter = process.stdin as Socket
  starter.resume().once('end', () => {
    process.once('exit', () => rmSync(process.env.DATA_DIR ?? '', { recursive: true, force: true }))
    process.kill(process.pid, 'SIGTERM')
  })
  starter.unref()
}
