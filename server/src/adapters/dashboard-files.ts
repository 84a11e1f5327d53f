import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Reads the built dashboard: its files by their path on the server, `/index.html` among them. */
export async function readDashboardFiles(): Promise<ReadonlyMap<string, Buffer>> {
  const root = dirname(fileURLToPath(import.meta.resolve('@countersign/dashboard/index.html')))
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = await Promise.all(
    paths.map(async (path) => [`/${relative(root, path).split(sep).join('/')}`, await readFile(path)] as const),
  )
  return new Map(files)
}
