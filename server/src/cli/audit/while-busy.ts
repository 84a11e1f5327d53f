/** The patience of commands that read from a server, which may be busy or restart. */
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError } from '@countersign/client'
import { isRetryableStatus, retryDelayMs } from '@countersign/client/text'
import { CommandError, writeNotice } from '../exit.js'
import type { TextAnswer } from './fetch-text.js'

/** How often a read is tried, by the cause of the failure. While the server is away, each pause is a second. */
const TRIES = { busy: 5, away: 15 } as const
const SAID = {
  busy: 'is busy. The command waits for as long as it asks, and asks again.',
  away: `takes no connections. It may be restarting: the command tries again for about ${TRIES.away} seconds.`,
} as const
/** Without a `Retry-After`. */
const PAUSE_SECONDS = 1
/** A server that asks for a longer total wait is not waited for: the command ends and says what the server asks for. */
const LONGEST_WAIT_MS = 120_000
/** Connection errors of a server that is stopping or not up yet. */
const AWAY: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET'])

/** A server refused a call. */
export class RefusedError extends CommandError {
  readonly status: number
  readonly retryAfterSeconds: number | null

  constructor(
    { status, retryAfterSeconds }: Pick<TextAnswer, 'status' | 'retryAfterSeconds'>,
    exitCode: number,
    message: string,
  ) {
    super(exitCode, message)
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Repeats a read that a server cannot answer now, and reports that on standard error. */
export async function whileBusy<T>(url: string, read: () => Promise<T>): Promise<T> {
  const left: Record<keyof typeof TRIES, number> = { ...TRIES }
  for (let leftMs = LONGEST_WAIT_MS; ; )
    try {
      return await read()
    } catch (fault) {
      const kind = kindOf(fault)
      if (kind === null || --left[kind] === 0) throw fault
      const tries = TRIES[kind] - left[kind]
      const waitMs = retryDelayMs(tries, retryAfterOf(fault) ?? PAUSE_SECONDS, Math.random())
      if (waitMs > leftMs) throw fault
      if (tries === 1) writeNotice('warn', `${url} ${SAID[kind]}`, {})
      leftMs -= waitMs
      await pause(waitMs)
    }
}

function kindOf(fault: unknown): keyof typeof TRIES | null {
  const { status = null, code, cause } = Object(fault) as { status?: unknown; code?: unknown; cause?: unknown }
  if (typeof status === 'number') return isRetryableStatus(status) ? 'busy' : null
  if (AWAY.has(code)) return 'away'
  return cause === undefined ? null : kindOf(cause)
}

/** The answer of a proxy has none. */
function retryAfterOf(fault: unknown): number | null {
  return fault instanceof RefusedError || ApiError.isInstance(fault) ? fault.retryAfterSeconds : null
}
