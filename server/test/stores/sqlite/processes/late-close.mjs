/**
 * Makes a store and closes it, lets another process write on and die, then has the garbage of this one collected: the library
 * closes a connection no sooner than its statements are collected. Needs `--expose-gc`. Argument: the data directory.
 * Prints `open` when the store opens again after that.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openSqliteStore } from '#server/stores/sqlite/open'

const dataDir = process.argv[2]

async function openAndClose() {
  await (await openSqliteStore({ dataDir })).close()
}

await openAndClose()
const writing = spawn(process.execPath, [fileURLToPath(new URL('store-process.mjs', import.meta.url)), dataDir, '6'], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
let commits = 0
for await (const line of createInterface({ input: writing.stdout }))
  if (line.startsWith('acknowledged') && ++commits === 8) writing.kill('SIGKILL')
if (writing.signalCode === null) await once(writing, 'exit')
for (let round = 0; round < 2; round += 1) {
  globalThis.gc()
  await setImmediate()
}
await openAndClose()
console.log('open')
