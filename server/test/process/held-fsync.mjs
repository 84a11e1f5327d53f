/**
 * Loaded before the shipped program (`node --import`): each fsync takes as long as the file `HELD_WHILE` exists, as on a disk that is
 * starved. The first one makes the file `HELD_WHILE` + `.reached`. For tests only.
 */
import fs, { existsSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'

const { HELD_WHILE } = process.env
const reached = () => writeFileSync(`${HELD_WHILE}.reached`, '')
const sleeper = new Int32Array(new SharedArrayBuffer(4))

const { fsyncSync } = fs
fs.fsyncSync = (descriptor) => {
  // The log flushes standard output.
  if (descriptor <= 2) return fsyncSync(descriptor)
  reached()
  while (existsSync(HELD_WHILE)) Atomics.wait(sleeper, 0, 0, 10)
  return fsyncSync(descriptor)
}
syncBuiltinESMExports()

const handle = await open(process.execPath)
const FileHandle = Object.getPrototypeOf(handle)
await handle.close()
const { sync } = FileHandle
FileHandle.sync = async function () {
  reached()
  while (existsSync(HELD_WHILE)) await pause(10)
  return sync.call(this)
}
