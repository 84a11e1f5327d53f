/**
 * The files that `init` and `check` write. One of them is beside the configuration and contains the accepted tools, for people to
 * read and for `check` to compare.
 */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { definitionOf, hashOf } from '../../lists/tool-definitions.js'
import { ConfigError, jsonIn, textIn } from '../config.js'

/** `countersign-mcp-tools.json` beside `countersign-mcp.json`. */
export function acceptedToolsPath(config: string): string {
  return `${config.replace(/\.json$/i, '')}-tools.json`
}

/** The accepted tools. Null if the file does not exist. @throws ConfigError for an invalid file */
export async function readAcceptedTools(path: string): Promise<readonly unknown[] | null> {
  const text = await textIn(path)
  if (text === undefined) return null
  const tools = jsonIn(text, path)
  if (Array.isArray(tools) && tools.every((tool) => hashOf(tool) !== undefined)) return tools
  throw new ConfigError(path, ['the file must hold a list of tools, as init writes it'])
}

/** @param tools tools that have a hash */
export function acceptedToolsText(tools: readonly unknown[]): string {
  return `${JSON.stringify(tools.map(definitionOf), null, 2)}\n`
}

/** @throws ConfigError, also for an existing file that must not be overwritten */
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
