/** An MCP server as a child process. It receives no Countersign key, and ends together with its own children. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { endsWithin } from '../../deadline.js'
import { SERVER_LINES } from '../message-text.js'
import { type LineListener, lineOf, readLines } from './json-lines.js'

/** How long a server may take to end by itself, and then by SIGTERM. Clients give the proxy two seconds for each. */
const GRACE_MS = 1_000

const IS_WINDOWS = process.platform === 'win32'

/** A command that cannot be started. `exitCode` is that of a shell. */
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
 * The environment of the server: that of the proxy, without Countersign's variables and without any other variable that contains the
 * API key.
 */
function childEnvironment(own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const key = own.COUNTERSIGN_API_KEY
  const isOurs = (name: string, value = ''): boolean =>
    // Windows ignores case.
    name.toUpperCase().startsWith('COUNTERSIGN_') || (!!key && value.includes(key))
  return Object.fromEntries(Object.entries(own).filter(([name, value]) => !isOurs(name, value)))
}

/** The server ended before the message was sent. The code is that of a refused connection, so a call is known not to have run. */
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
  /** Resolves when nothing can be sent any longer. */
  readonly closed: Promise<void>
  /** Resolves when the server has ended and its output was read. All processes that it started in its group have ended too. */
  readonly ended: Promise<ServerEnd>

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child
    const killRest = (): void => killGroup(child, 'SIGKILL')
    process.once('exit', killRest)
    this.ended = this.#end().finally(() => process.off('exit', killRest))
    // The callback of the write receives the error.
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
      // A separate group, so that the server ends with everything it started. On Windows this would open a window.
      detached: !IS_WINDOWS,
      windowsHide: true,
    })
    // Before any other turn of the event loop: the server may end or write immediately.
    const server = new ServerProcess(child)
    child.stdout.pause()
    await once(child, 'spawn').catch((error) => {
      throw new CommandError(command, error)
    })
    return server
  }

  /** The bytes that were sent and that the server has not read. */
  get unreadBytes(): number {
    return this.#child.stdin.writableLength
  }

  /** Starts to read the server's output. */
  listen(listener: LineListener): void {
    readLines(this.#child.stdout, listener, SERVER_LINES)
    this.#child.stdout.resume()
  }

  /** Reads or pauses the server's output. After its end, the output is always read. */
  setReading(isReading: boolean): void {
    if (isReading || this.#hasExited) this.#child.stdout.resume()
    else this.#child.stdout.pause()
  }

  /** Calls the listener whenever the server has read everything. */
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
   * Ends the server by increasingly strong means, and resolves when it has ended.
   *
   * @param isUrgent begins with SIGTERM instead of the end of its input
   */
  async stop({ isUrgent = false } = {}): Promise<void> {
    if (isUrgent) this.#signal('SIGTERM')
    this.#stopping ??= this.#stop(isUrgent)
    return this.#stopping
  }

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

  /** After the end, the system may reuse the process id. */
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
    // Processes that the server started may hold its output open.
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
    // Windows has neither groups nor signals. This ends the whole tree immediately.
    else if (child.exitCode === null) spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore' }).unref()
  } catch {
    // All processes have ended.
  }
}
