import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startStubEventStream } from '@countersign/testkit'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const PROGRAM = fileURLToPath(new URL('listening-process.mjs', import.meta.url))

it.each([
  ['break', ['cur_1', 'cur_2']],
  ['signal', ['cur_1', 'cur_2', 'true']],
  ['forgotten', ['cur_1', 'cur_2']],
])('a process that listens lives over a restart of the server, and ends by itself (%s)', async (how, lines) => {
  const server = await startStubEventStream()
  const env = { ...process.env, COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: 'key-of-a-test' }
  const ended = run(process.execPath, [PROGRAM, how], { timeout: 15_000, env })
  await server.listened()
  server.push()
  await server.stop()
  await server.start()
  await server.listened()
  server.push()
  expect((await ended).stdout.trim().split('\n')).toEqual(lines)
  await server.stop()
})
