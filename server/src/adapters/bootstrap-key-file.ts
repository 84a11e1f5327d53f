import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { assertNoFolder, replaceFile } from '@countersign/durable-files'

export function bootstrapKeyPath(dataDir: string): string {
  return join(dataDir, 'bootstrap-key')
}

/** Leaves the first key where only the operator can read it, durably. */
export async function writeBootstrapKey(dataDir: string, text: string): Promise<void> {
  assertNoFolder(bootstrapKeyPath(dataDir))
  await replaceFile(bootstrapKeyPath(dataDir), `${text}\n`)
}

/** Takes a text away that opens nothing; any other stays. */
export async function withdrawBootstrapKey(dataDir: string, text: string): Promise<void> {
  const path = bootstrapKeyPath(dataDir)
  if ((await readFile(path, 'utf8')).trim() === text) await rm(path)
}

/** Whether the file is still there. */
export async function hasBootstrapKey(dataDir: string): Promise<boolean> {
  return readFile(bootstrapKeyPath(dataDir)).then(
    () => true,
    () => false,
  )
}
