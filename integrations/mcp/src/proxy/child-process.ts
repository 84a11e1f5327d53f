/** An MCP server as a child process: it gets no Countersign key, exchanges lines, and ends together with its own children. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { endsWithin } from '../deadline.js'
import { type LineListener, lineOf, readLines } from './json-lines.js'

/** How long a server may take to end by itself, and then by SIGTERM: clients give the proxy two seconds for each. */
const GRACE_MS = 1_000

const IS_WINDOWS = process.platform === 'win32'

/** A command that cannot be started; `exitCode` as shells have it. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: 126 | 127

  constructor(command: string, { code = 'unknown' }: NodeJS.ErrnoException) {
    const hint = IS_WINDOWS ? ' On Windows npx is a script: use cmd /c npx instead.' : ''
    super(
      code === 'ENOENT'
        ? `The command ${command} was not found. Use its full path, or set PATH for the proxy.${hint}`
        : `The command ${command} could not be started (${code}).${hint}`,
    )
    this.exitCode = code === 'ENOENT' ? 127 : 126
  }
}

export interface ServerEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * The server's environment: that of the proxy, without Countersign's variables, and without any other variable that contains the API
 * key.
 */
function childEnvironment(own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const key = own.COUNTERSIGN_API_KEY
  const isOurs = (name: string, value = ''): boolean =>
    // On Windows case does not count.
    name.toUpperCase().startsWith('COUNTERSIGN_') || (!!key && value.includes(key))
  return Object.fromEntries(Object.entries(own).filter(([name, value]) => !isOurs(name, value)))
}

/** The server has ended before. The code is that of a connection that nobody accepts: by it a call is known not to have run. */
class MessageNotSent extends Error {
  readonly code = 'ECONNREFUSED'

  constructor() {
    super('The message was not sent: no process reads it.')
  }
}

export class ServerProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  #isOpen = true
  #hasExited = false
  #stopping: Promise<void> | undefined
  /** Resolves as soon as nothing can be sent any more. */
  readonly closed: Promise<void>
  /** Resolves once it has ended, and all that it wrote was read. Nothing that it has started is left then, unless it left its group. */
  readonly ended: Promise<ServerEnd>

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child
    const killRest = (): void => killGroup(child, 'SIGKILL')
    process.once('exit', killRest)
    this.ended = this.#end().finally(() => process.off('exit', killRest))
    // The callback of the write gets the error.
    child.stdin.on('error', () => {})
    this.closed = new Promise((resolve) => {
      child.stdin.on('close', () => {
        this.#isOpen = false
        resolve()
      })
    })
  }

  /** @throws CommandError */
  static async start(command: string, args: readonly string[]): Promise<ServerProcess> {
    const child = spawn(command, args, {
      env: childEnvironment(),
      stdio: ['pipe', 'pipe', 'inherit'],
      // A group of its own, to end it with all that it has started. On Windows that would be a window of its own.
      detached: !IS_WINDOWS,
      windowsHide: true,
    })
    // Before any other turn: it may end, or write, right after it has begun.
    const server = new ServerProcess(child)
    child.stdout.pause()
    await once(child, 'spawn').catch((error) => {
      throw new CommandError(command, error)
    })
    return server
  }

  /** What was sent and the server has not read yet. */
  get unreadBytes(): number {
    return this.#child.stdin.writableLength
  }

  /** Begins to read what the server writes. */
  listen(listener: LineListener): void {
    readLines(this.#child.stdout, listener)
    this.#child.stdout.resume()
  }

  /** Reads on, or holds the server up. What it has left behind is read in any case. */
  setReading(isReading: boolean): void {
    if (isReading || this.#hasExited) this.#child.stdout.resume()
    else this.#child.stdout.pause()
  }

  /** Told whenever the server has read all that was sent. */
  onDrain(listener: () => void): void {
    this.#child.stdin.on('drain', listener)
  }

  /**
   * Sends one message. Resolves when the system has taken it, and rejects if its arrival is unknown.
   *
   * @throws Error, synchronously, if nothing was sent
   */
  send(message: unknown): Promise<void> {
    if (!this.#isOpen) throw new MessageNotSent()
    const line = lineOf(message)
    return new Promise((resolve, reject) => {
      this.#child.stdin.write(line, (error) => (error ? reject(error) : resolve()))
    })
  }

  /**
   * Ends the server, harder and harder, and resolves when it has ended.
   *
   * @param isUrgent begins with SIGTERM, in place of the end of its input
   */
  async stop({ isUrgent = false } = {}): Promise<void> {
    if (isUrgent) this.#signal('SIGTERM')
    this.#stopping ??= this.#stop(isUrgent)
    return this.#stopping
  }

  /** Ends it at once. */
  kill(): void {
    this.#signal('SIGKILL')
  }

  async #stop(isUrgent: boolean): Promise<void> {
    this.#isOpen = false
    this.#child.stdin.end()
    if (await endsWithin(this.ended, GRACE_MS)) return
    this.#signal(isUrgent ? 'SIGKILL' : 'SIGTERM')
    if (await endsWithin(this.ended, GRACE_MS)) return
    this.#signal('SIGKILL')
    await this.ended
  }

  /** Once it has ended, the system may give its number to another process. */
  #signal(signal: NodeJS.Signals): void {
    if (!this.#hasExited) killGroup(this.#child, signal)
  }

  async #end(): Promise<ServerEnd> {
    const child = this.#child
    const closed = once(child, 'close').catch(() => {})
    const [code, signal] = await once(child, 'exit').catch(() => [null, null])
    this.#hasExited = true
    this.#isOpen = false
    child.stdout.resume()
    // What it has started may hold its output open for good.
    killGroup(child, 'SIGKILL')
    if (!(await endsWithin(closed, GRACE_MS))) child.stdout.destroy()
    return { code, signal }
  }
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid } = child
  if (pid === undefined) return
  try {
    if (!IS_WINDOWS) process.kill(-pid, signal)
    // There are neither groups nor signals: the whole tree is ended, at once.
    else if (child.exitCode === null) spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore' }).unref()
  } catch {
    // Nobody is left.
  }
}
