import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Built into this package, of which the sources and what is built of them are at one depth. */
const ROOT = fileURLToPath(new URL('../../dist/dashboard', import.meta.url))

/** Reads the built dashboard: its files by their path on the server, `/index.html` among them. */
export async function readDashboardFiles(): Promise<ReadonlyMap<string, Buffer>> {
  const entries = await readdir(ROOT, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = await Promise.all(
    paths.map(async (path) => [`/${relative(ROOT, path).split(sep).join('/')}`, await readFile(path)] as const),
  )
  return new Map(files)
}
