import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const REPORT = join(ROOT, 'reports', 'vitest.json')

/**
 * Turns this process into one run of all test projects, which also writes `reports/vitest.json`.
 * @param {string[]} args further arguments of `vitest run`
 */
export async function becomeVitest(args) {
  rmSync(REPORT, { force: true })
  const entry = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`]
  process.argv = [process.execPath, entry, 'run', ...reporters, ...args]
  await import(pathToFileURL(entry).href)
}
