import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Returns what a built file names outside of its package: its own imports, and those of the files that it reaches.
 *
 * @param entry absolute path of a `.js` or `.d.ts` file
 * @param leastFiles a walk that sees fewer files has lost its way, and is an error
 */
export async function outerImports(entry: string, leastFiles = 1): Promise<string[]> {
  const outer = new Set<string>()
  const files = new Set([entry])
  for (const file of files) {
    const text = await readFile(file, 'utf8')
    for (const [, specifier = ''] of text.matchAll(/(?:from|import|import\(|require\()\s*["']([^"'\s]+)["']/g)) {
      if (!specifier.startsWith('.')) outer.add(specifier)
      else files.add(join(file, '..', file.endsWith('.d.ts') ? specifier.replace(/\.js$/, '.d.ts') : specifier))
    }
  }
  if (files.size < leastFiles) throw new Error(`${entry} reaches ${files.size} files, not ${leastFiles}.`)
  return [...outer].sort()
}
