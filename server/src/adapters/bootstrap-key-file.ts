import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { assertNoFolder } from '../durable-files/assert-no-folder.js'
import { replaceFile } from '../durable-files/replace-file.js'

export function bootstrapKeyPath(dataDir: string): string {
  return join(dataDir, 'bootstrap-key')
}

/** Writes the first key durably to a file that only the operator can read. */
export async function writeBootstrapKey(dataDir: string, text: string): Promise<void> {
  assertNoFolder(bootstrapKeyPath(dataDir))
  await replaceFile(bootstrapKeyPath(dataDir), `${text}\n`)
}

/** Removes the file if it contains this text; any other text stays. */
export async function withdrawBootstrapKey(dataDir: string, text: string): Promise<void> {
  const path = bootstrapKeyPath(dataDir)
  if ((await readFile(path, 'utf8')).trim() === text) await rm(path)
}

/** Whether the file exists. */
export async function hasBootstrapKey(dataDir: string): Promise<boolean> {
  return readFile(bootstrapKeyPath(dataDir)).then(
    () => true,
    () => false,
  )
}
