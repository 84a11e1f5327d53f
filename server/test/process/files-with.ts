import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files of a folder that have one of these texts, or the bytes of one of these hashes. */
export function filesWith(
  directory: string,
  { texts, hashes = [] }: { texts: readonly string[]; hashes?: readonly string[] },
): string[] {
  const needles = [
    ...[...texts, ...hashes].map((text) => Buffer.from(text)),
    ...hashes.map((hash) => Buffer.from(hash, 'base64url')),
  ]
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files
    .filter(({ parentPath, name }) => {
      const bytes = readFileSync(join(parentPath, name))
      return needles.some((needle) => bytes.includes(needle))
    })
    .map(({ name }) => name)
}
