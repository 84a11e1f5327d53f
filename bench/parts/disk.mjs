import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { median } from './figures.mjs'

const BLOCK = Buffer.alloc(4096, 'x')

/** The p50 in milliseconds of appending 4 KiB to a file in the folder and waiting until the disk has it. */
export function fdatasyncMs(folder, times = 200) {
  const file = openSync(join(folder, 'synced'), 'a')
  const durations = Array.from({ length: times }, () => {
    writeSync(file, BLOCK)
    const started = performance.now()
    fdatasyncSync(file)
    return performance.now() - started
  })
  closeSync(file)
  return median(durations)
}
