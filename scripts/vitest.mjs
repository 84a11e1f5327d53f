import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * Turns this process into one run of test projects, which also writes a report.
 * @param {string[]} args further arguments of `vitest run`
 * @param {string} report its name in `reports`
 */
export async function becomeVitest(args, report = 'vitest.json') {
  const path = join(ROOT, 'reports', report)
  rmSync(path, { force: true })
  const entry = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${path}`]
  process.argv = [process.execPath, entry, 'run', ...reporters, ...args]
  await import(pathToFileURL(entry).href)
}
