/** The files that `init` and `check` write. */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ConfigError } from './config.js'

/** @throws ConfigError, also for a file that is there already and is not to be overwritten */
export async function write(
  path: string,
  text: string,
  { overwrites }: { readonly overwrites: boolean },
): Promise<void> {
  try {
    await writeFile(path, text, { flag: overwrites ? 'w' : 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw code === 'EEXIST'
      ? alreadyThere(path)
      : new ConfigError(resolve(path), [`the file cannot be written (${code})`])
  }
}

export function alreadyThere(path: string): ConfigError {
  return new ConfigError(resolve(path), ['the file exists already: set another path, or overwrite it with --force'])
}
