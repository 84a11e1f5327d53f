/** The server as it is shipped, in a process of its own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Answer, type CallOptions, call } from './call.js'
import { Child, type ChildOptions } from './child.js'

/** The built command line of this checkout. */
export const MAIN = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url))

/** A key that the operator chose. */
export const CHOSEN_KEY = 'a-key-for-tests-of-more-than-32-characters'

export interface ServerOptions extends ChildOptions {
  readonly dataDir: string
  /** Another program than `countersign serve`. */
  readonly program?: { readonly command: string; readonly args: readonly string[] }
}

/** Runs a command of the command line. */
export function countersign(args: readonly string[], options: ChildOptions = {}): Child {
  return new Child(process.execPath, [MAIN, ...args], options)
}

export class ShippedServer extends Child {
  readonly key = CHOSEN_KEY
  url = ''

  private constructor({ dataDir, program, env, ...options }: ServerOptions) {
    const { command, args } = program ?? { command: process.execPath, args: [MAIN, 'serve'] }
    const settings = { PORT: '0', DATA_DIR: dataDir, COUNTERSIGN_BOOTSTRAP_KEY: CHOSEN_KEY, RATE_LIMIT_PER_SECOND: '0' }
    super(command, args, { ...options, env: { ...settings, ...env } })
  }

  /** Starts it and waits until it is ready. */
  static async start(options: ServerOptions): Promise<ShippedServer> {
    const server = new ShippedServer(options)
    const [, url = ''] = await server.says(/"url":"([^"]+)".*\n/)
    server.url = url
    return server
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return call(this.url, method, path, { key: this.key, ...options })
  }

  /** The lines of its log. */
  get lines(): Record<string, unknown>[] {
    return this.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  }

  /** SIGTERM, and how it ended. */
  async stop() {
    this.signal('SIGTERM')
    return this.end()
  }
}

const directories: string[] = []

/** A new folder, removed by `removeDirectories`. */
export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-process-'))
  directories.push(directory)
  return directory
}

/** For `afterEach`, after `endChildren`. */
export function removeDirectories(): void {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
}
