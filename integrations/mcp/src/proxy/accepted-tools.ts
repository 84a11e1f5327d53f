/** The file with the accepted tool definitions, beside the configuration. People read it, and `check` compares with it. */
import { readFile } from 'node:fs/promises'
import { definitionOf, hashOf } from '../tool-definitions.js'
import { ConfigError, jsonIn } from './config.js'

/** `countersign-mcp-tools.json` beside `countersign-mcp.json`. */
export function acceptedToolsPath(config: string): string {
  return `${config.replace(/\.json$/i, '')}-tools.json`
}

/** The accepted definitions. Null if the file does not exist. @throws ConfigError for an invalid file */
export async function readAcceptedTools(path: string): Promise<readonly unknown[] | null> {
  let tools: unknown
  try {
    tools = jsonIn(await readFile(path, 'utf8'))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new ConfigError(path, [
      code === undefined ? `the file is not valid JSON: ${message}` : `the file cannot be read (${code})`,
    ])
  }
  if (Array.isArray(tools) && tools.every((tool) => hashOf(tool) !== undefined)) return tools
  throw new ConfigError(path, ['the file has to hold a list of tools, as init writes it'])
}

/** @param tools that have a hash */
export function acceptedToolsText(tools: readonly unknown[]): string {
  return `${JSON.stringify(tools.map(definitionOf), null, 2)}\n`
}
