/** `countersign-mcp check`: reports how a running server's tools differ from the accepted ones. */
import { readFile } from 'node:fs/promises'
import { toolName } from '../../lists/tool-pages.js'
import { jsonIn, type ProxyConfig, readConfig } from '../config.js'
import { EXIT, type Log } from '../operator.js'
import { acceptedToolsPath, acceptedToolsText, readAcceptedTools, write } from './files.js'
import { type ListedServer, toolsOfServer } from './server-tools.js'
import { printableName, type ShownTools, shownToolsIn } from './shown-tools.js'
import { type Difference, type DifferenceKind, toolDifferences } from './tool-differences.js'

export interface CheckOptions {
  readonly server: ListedServer
  /** The path of the configuration file. */
  readonly config: string
  /** The tools to accept as the server shows them now: all, or those with these names. */
  readonly accept: boolean | readonly string[]
  readonly log: Log
  /** Receives the report line by line. */
  readonly print: (line: string) => void
}

const MEANINGS: Readonly<Record<DifferenceKind, string>> = {
  changed: 'has changed since it was accepted: if it is pinned, its calls are denied',
  gone: 'is gone: the server does not show it',
  new: 'is new: it is neither mapped nor accepted',
  unsound: 'is invalid: it can be neither mapped nor pinned',
  unpinned: 'is mapped but not pinned, so the proxy does not notice changes: pin it with --accept',
  unmapped: 'is still not mapped',
}

/** A server with thousands of tools must not bury the first ones. */
const MAX_REPORTED = 200
const NO_DIFFERENCE: readonly DifferenceKind[] = ['unpinned', 'unmapped']

/**
 * Resolves with the exit code: 1 if the server differs.
 *
 * @throws ConfigError, CommandError, UnusableServer
 */
export async function check({ server, config: path, accept, log, print }: CheckOptions): Promise<number> {
  const config = await readConfig(path)
  const toolsPath = acceptedToolsPath(path)
  const accepted = await readAcceptedTools(toolsPath)
  const shown = shownToolsIn(await toolsOfServer(server, log))
  const differences = toolDifferences(shown, config, accepted)
  const strangers = Array.isArray(accept) ? accept.filter((name) => !shown.sound.has(name)) : []
  for (const name of strangers) log.error(`The server shows no valid tool ${printableName(name)} to accept.`)
  if (strangers.length > 0) return EXIT.failure
  const names = new Set(accept === true ? shown.sound.keys() : accept || [])
  for (const difference of differences.slice(0, MAX_REPORTED)) report(difference, names, print)
  if (differences.length > MAX_REPORTED) print(`… and ${differences.length - MAX_REPORTED} more tools.`)
  if (shown.nameless > 0) print(`${shown.nameless} entries of the tool list have no name and are ignored.`)
  if (names.size > 0) {
    await pin(path, config, { names, shown })
    const isKept = (name: string): boolean => !names.has(name) && (accept !== true || shown.unsound.has(name))
    const kept = (accepted ?? []).filter((tool) => isKept(toolName(tool) ?? ''))
    const taken = [...shown.sound].flatMap(([name, { tool }]) => (names.has(name) ? [tool] : []))
    await write(toolsPath, acceptedToolsText([...kept, ...taken]), { overwrites: true })
  }
  const open = differences.filter(({ tool, kind }) => {
    const isOver = names.has(tool) || (accept === true && kind === 'gone' && !Object.hasOwn(config.tools, tool))
    return !isOver && !NO_DIFFERENCE.includes(kind)
  })
  print(open.length === 0 ? 'No differences from the accepted tools.' : `${open.length} differences. ${WHAT_NOW}`)
  return open.length === 0 ? EXIT.ok : EXIT.failure
}

const WHAT_NOW =
  'Accept the tools that you trust with --accept <tool>. In the configuration, map new tools and remove those that are gone.'

function report({ tool, kind, details }: Difference, names: ReadonlySet<string>, print: (line: string) => void): void {
  print(`${printableName(tool)} ${MEANINGS[kind]}${names.has(tool) ? ' (accepted now)' : ''}`)
  for (const detail of details) print(`    ${detail}`)
}

interface Accepted {
  readonly names: ReadonlySet<string>
  readonly shown: ShownTools
}

/** Writes the hashes of accepted and mapped tools. Everything else in the file stays as it is. */
async function pin(path: string, { tools }: ProxyConfig, { names, shown }: Accepted): Promise<void> {
  const file = jsonIn(await readFile(path, 'utf8'), path) as Pick<ProxyConfig, 'tools'>
  for (const [name, { hash }] of shown.sound) {
    const tool = Object.hasOwn(tools, name) && names.has(name) ? file.tools[name] : undefined
    if (tool !== undefined) tool.definition = hash
  }
  await write(path, `${JSON.stringify(file, null, 2)}\n`, { overwrites: true })
}
