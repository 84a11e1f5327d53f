/** `npm test`: prepares the checkout, then becomes one vitest run of the quick tier; arguments are vitest's (`npm test -- packages/engine`). */
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'
import { becomeVitest } from './vitest.mjs'

const MEMORY = '/dev/shm'
const NEEDED_BYTES = 2 ** 30

await prepare(fileURLToPath(new URL('..', import.meta.url)), 'tests')
process.env.TIER = 'quick'
if (process.env.TMPDIR === undefined && existsSync(MEMORY)) useMemory()
await becomeVitest(process.argv.slice(2))

/** The quick tests open hundreds of stores, and none asks what a loss of power leaves: the slow ones do, on a disk. */
function useMemory() {
  const { bavail, bsize } = statfsSync(MEMORY)
  if (bavail * bsize < NEEDED_BYTES) return
  const folder = mkdtempSync(`${MEMORY}/countersign-tests-`)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.env.TMPDIR = folder
}
