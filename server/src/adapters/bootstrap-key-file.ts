import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export function bootstrapKeyPath(dataDir: string): string {
  return join(dataDir, 'bootstrap-key')
}

/** Leaves the first key where only the operator can read it. */
export async function writeBootstrapKey(dataDir: string, text: string): Promise<void> {
  const path = bootstrapKeyPath(dataDir)
  await writeFile(`${path}.part`, `${text}\n`, { mode: 0o600, flush: true })
  await rename(`${path}.part`, path)
}

/** Whether the file is still there. */
export async function hasBootstrapKey(dataDir: string): Promise<boolean> {
  return readFile(bootstrapKeyPath(dataDir)).then(
    () => true,
    () => false,
  )
}
