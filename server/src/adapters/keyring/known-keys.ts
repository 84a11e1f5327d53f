/**
 * `known-signing-keys.json`: the ids of the keys that this server has had. A key file that was lost, or replaced with
 * that of another server, contains none of them: the server reports that at each start.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../../durable-files/replace-file.js'

const KnownSchema = z.strictObject({ kids: z.array(z.string()) })
/** Enough for years, because each rotation adds one. */
const MAX_KIDS = 1000

export function knownKeysFile(dataDir: string): string {
  return join(dataDir, 'known-signing-keys.json')
}

/**
 * Whether this server has had other keys than these, and none of these. False when it has had none, or when the file is
 * damaged.
 */
export async function areForeign(dataDir: string, kids: readonly string[]): Promise<boolean> {
  const known = await readKnown(dataDir)
  return known.length > 0 && !kids.some((kid) => known.includes(kid))
}

/** Adds keys to the known ones. Durable once the promise resolves. */
export async function rememberKeys(dataDir: string, kids: readonly string[]): Promise<void> {
  const known = await readKnown(dataDir)
  const added = kids.filter((kid) => !known.includes(kid))
  if (added.length === 0) return
  const all = [...known, ...added].slice(-MAX_KIDS)
  await replaceFile(knownKeysFile(dataDir), `${JSON.stringify({ kids: all })}\n`)
}

async function readKnown(dataDir: string): Promise<readonly string[]> {
  try {
    return KnownSchema.parse(JSON.parse(await readFile(knownKeysFile(dataDir), 'utf8'))).kids
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
    return []
  }
}
