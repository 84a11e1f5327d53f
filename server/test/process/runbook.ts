/** The printed commands of docs/runbooks.md, run in their order by an operator whose folder has the server's `data/`. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { CHOSEN_KEY, MAIN, newDirectory, ShippedServer } from './shipped-server.js'

const PAGE = readFileSync(new URL('../../../docs/runbooks.md', import.meta.url), 'utf8')
const SERVE = /^(?:DATA_DIR=(\S+) )?npx countersign serve$/
export const ISSUER = 'https://decide.example'

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * The blocks of a section, also those that CI cannot run on a server of a reader. A `serve` is a block of its own.
 *
 * @param count how many there are, so that a test notices a block that it does not run
 */
export function commandsOf(heading: string, count: number): string[] {
  const [, section] = PAGE.split(`\n## ${heading}\n`)
  if (section === undefined) throw new Error(`docs/runbooks.md has no section ${heading}.`)
  const blocks = [...(section.split('\n## ')[0] ?? '').matchAll(/^( *)```sh.*\n([\s\S]*?)^ *```$/gm)]
  if (blocks.length !== count) throw new Error(`The section ${heading} has ${blocks.length} blocks, not ${count}.`)
  return blocks.map(([, indent = '', block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), '').trim())
}

export class Operator {
  readonly home = newDirectory()
  /** The command line of the version that is installed. */
  main = MAIN
  #server: ShippedServer | null = null
  readonly #settings: Record<string, string>
  readonly #variables = join(newDirectory(), 'variables')

  constructor(settings: Record<string, string> = {}) {
    this.#settings = { ISSUER, ...settings }
    writeFileSync(this.#variables, '')
  }

  get dataDir(): string {
    return join(this.home, 'data')
  }

  get server(): ShippedServer {
    if (this.#server === null) throw new Error('The server does not run.')
    return this.#server
  }

  /** Does what a block says. Variables that it sets are there for the next one. */
  run(block: string): Ran {
    const url = this.#server?.url ?? 'http://127.0.0.1:9'
    const script = [
      'set -aeuo pipefail',
      `npx() { shift; '${process.execPath}' '${this.main}' "$@"; }`,
      'curl() { command curl --fail-with-body --silent --show-error "$@"; }',
      `. '${this.#variables}'`,
      `PORT=${new URL(url).port} COUNTERSIGN_URL=${url} COUNTERSIGN_API_KEY=${CHOSEN_KEY}`,
      block.replaceAll('http://127.0.0.1:8787', url),
      `export -p > '${this.#variables}'`,
    ]
    const env = { ...process.env, ...this.#settings, DATA_DIR: 'data/' }
    const options = { cwd: this.home, env, encoding: 'utf8' } as const
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script.join('\n')], options)
    return { code: status, stdout, stderr }
  }

  /** The same for a block that ends with 0. Gives what it printed. */
  succeed(block: string): string {
    const { code, stdout, stderr } = this.run(block)
    if (code !== 0) throw new Error(`${block}\nended with ${code}:\n${stdout}${stderr}`)
    return stdout
  }

  /** Does what a block with `serve` says. */
  async serve(block = 'npx countersign serve'): Promise<ShippedServer> {
    const [, named] = SERVE.exec(block) ?? []
    if (!SERVE.test(block)) throw new Error(`This does not start a server: ${block}`)
    const dataDir = this.#pathOf(named ?? 'data')
    const program = { command: process.execPath, args: [this.main, 'serve'] }
    this.#server = await ShippedServer.start({ dataDir, program, env: this.#settings })
    return this.#server
  }

  async stop(): Promise<void> {
    const { code } = await this.server.stop()
    if (code !== 0) throw new Error(`The server ended with ${code}: ${this.server.stderr}`)
    this.#server = null
  }

  /** A path as the page writes it, which may name a variable. */
  #pathOf(written: string): string {
    return resolve(this.home, this.succeed(`printf %s ${written}`))
  }

  /** Whether a file is there, by a path as the page writes it. */
  has(written: string): boolean {
    return existsSync(this.#pathOf(written))
  }
}
