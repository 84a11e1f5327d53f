import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type ServerOptions, ShippedServer } from './shipped-server.js'

const DRIVEN = fileURLToPath(new URL('./driven-server.mjs', import.meta.url))

/** Where a process dies: at the commit of an audit entry of this type. */
export interface KillPoint {
  readonly type: string
  readonly step: 'reserve' | 'before' | 'inside' | 'after'
  /** How long after the commit began, for `inside`. */
  readonly delay_ms?: number
}

/** The real application in a process of its own, on a clock that stands still until it is set. */
export interface DrivenServer extends ShippedServer {
  setTime(time: Date): Promise<void>
  /** Commits that begin from now on never end. */
  hangCommits(): Promise<void>
  /** The process dies of SIGKILL there. */
  killAt(point: KillPoint): Promise<void>
}

export async function startDriven(
  options: Omit<ServerOptions, 'program' | 'ipc'> & { readonly now?: Date },
): Promise<DrivenServer> {
  const program = { command: process.execPath, args: [DRIVEN] }
  const env = { ...options.env, ...(options.now && { DRIVEN_TIME: options.now.toISOString() }) }
  const server = await ShippedServer.start({ ...options, env, program, ipc: true })
  const tell = async (message: object): Promise<void> => {
    const done = once(server.process, 'message')
    server.process.send(message)
    await done
  }
  return Object.assign(server, {
    setTime: (time: Date) => tell({ set_time: time.toISOString() }),
    hangCommits: () => tell({ hang_commits: true }),
    killAt: (point: KillPoint) => tell({ kill_at: point }),
  })
}
