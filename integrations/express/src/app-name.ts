/** Finds the name of the running program. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Returns the `name` in the nearest package.json above the program's entry file that has one: the same after a restart
 * and in every replica, and different in another service. When an installed package starts the program, such as a
 * framework for functions, the search begins at the working folder, because that package has the same name in every
 * service. Empty when no name is found, as for a script on standard input.
 */
export function appName(entry = process.argv[1], workingFolder = process.cwd()): string {
  const isInstalled = entry?.split(/[\\/]/).includes('node_modules')
  const start = isInstalled ? workingFolder : dirname(entry ?? '/')
  for (let folder = start, below = ''; folder !== below; below = folder, folder = dirname(folder)) {
    const name = nameIn(join(folder, 'package.json'))
    if (name !== undefined) return name
  }
  return ''
}

function nameIn(file: string): string | undefined {
  try {
    const { name } = Object(JSON.parse(readFileSync(file, 'utf8'))) as { name?: unknown }
    return typeof name === 'string' && name !== '' ? name : undefined
  } catch {
    return undefined
  }
}
