/** Processes that tests start: what they print, how they end, and that none of them stays. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { until } from '@countersign/testkit'

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Standard output and standard error are always read. */
  readonly stdin?: 'ignore' | 'pipe'
  /** Opens a channel for messages. */
  readonly ipc?: boolean
  /** Whom it runs as. Only root may choose. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

/** The server's settings in the environment of the tests do not reach the processes. */
const SETTINGS = [
  ...['PORT', 'HOST', 'DATA_DIR', 'ISSUER', 'PERMIT_AUDIENCE', 'LOG_LEVEL', 'COUNTERSIGN_BOOTSTRAP_KEY'],
  ...['MONGODB_URL', 'METRICS_TOKEN', 'RATE_LIMIT_PER_SECOND', 'DECISION_TTL_SECONDS', 'REVIEW_TTL_SECONDS'],
  ...['APPROVAL_TTL_SECONDS', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_SERVICE_NAME'],
  ...['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_SDK_DISABLED', 'OTEL_TRACES_EXPORTER'],
  ...['MAX_CONNECTIONS', 'MAX_OPEN_REVIEWS', 'MAX_OPEN_REVIEWS_PER_KEY', 'NODE_OPTIONS', 'NO_COLOR', 'FORCE_COLOR'],
]

const running = new Set<Child>()

/** Ends whatever still runs, by its id; for `afterEach`. */
export async function endChildren(): Promise<void> {
  await Promise.all([...running].map((child) => child.kill()))
}

export class Child {
  stdout = ''
  stderr = ''
  readonly ended: Promise<Ending>
  readonly process: ChildProcess
  ending: Ending | undefined

  constructor(command: string, args: readonly string[], options: ChildOptions = {}) {
    const stdio: StdioOptions = [options.stdin ?? 'ignore', 'pipe', 'pipe', ...(options.ipc ? (['ipc'] as const) : [])]
    const withoutSettings = Object.fromEntries(SETTINGS.map((name) => [name, undefined]))
    this.process = spawn(command, args, {
      cwd: options.cwd,
      env: { ...process.env, ...withoutSettings, ...options.env },
      stdio,
      ...options.user,
    })
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    running.add(this)
    this.ended = new Promise((resolve, reject) => {
      this.process.once('error', reject)
      this.process.once('close', (code, signal) => {
        running.delete(this)
        this.ending = { code, signal }
        resolve(this.ending)
      })
    })
    // A caller that waits for the end is told; one that does not is no reason to crash.
    this.ended.catch(() => {})
  }

  get pid(): number {
    if (this.process.pid === undefined) throw new Error('The process could not be started.')
    return this.process.pid
  }

  /** Waits for a text on standard output and gives what its groups caught. */
  says(pattern: RegExp): Promise<RegExpExecArray> {
    return until(`${pattern} on standard output, which is ${JSON.stringify(this.stdout)}; ${this.stderr}`, () => {
      const found = pattern.exec(this.stdout)
      if (found === null && this.ending !== undefined)
        throw new Error(`The process ended with ${JSON.stringify(this.ending)}: ${this.stdout}${this.stderr}`)
      return found ?? undefined
    })
  }

  /** How it ends by itself. */
  async end(deadlineMs = 30_000): Promise<Ending> {
    return until(`the end of process ${this.pid}; it said ${this.stdout}${this.stderr}`, () => this.ending, deadlineMs)
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  /** SIGKILL, to it and to what it started. */
  async kill(): Promise<Ending> {
    for (const pid of this.ending === undefined ? [...descendants(this.pid), this.pid] : []) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended by itself in between.
      }
    }
    return this.ended
  }
}

/** The ids of a process's children and of theirs, the youngest first. */
export function descendants(pid: number): number[] {
  const children = procFile(`${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return children.flatMap((child) => [...descendants(child), child])
}

function procFile(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}
