import { ApiError, type AuditEntry, type AuditFollowQuery } from '@countersign/client'
import { CommandError, EXIT, usageError, writeNotice } from '../../exit.js'
import { followServer } from '../../live/follow-server.js'
import { jsonLine } from '../../live/shown-text.js'
import { cefLine } from './cef.js'
import { endUnfinishedLine, StuckOutputError, writeLines } from './line-output.js'
import { ocsfLine } from './ocsf.js'
import { PositionFile } from './position-file.js'

export interface AuditFollowOptions {
  readonly format: string
  readonly from: string
  readonly position?: string
  readonly type?: string
  readonly agent?: string
  readonly url?: string
  readonly once?: boolean
}

/** How an entry is written on one line. */
const FORMATS: Readonly<Record<string, (entry: AuditEntry) => string>> = {
  json: jsonLine,
  ocsf: ocsfLine,
  cef: cefLine,
}

const STARTS: Readonly<Record<string, string | undefined>> = { start: undefined, now: 'now' }

/**
 * Writes the entries of the audit logs to standard output, oldest first, and those that come later, until a signal
 * arrives, or once. A page is written first, and its position saved then: whatever is killed in between, each entry comes at
 * least once.
 */
export async function auditFollow(options: AuditFollowOptions): Promise<number> {
  const { format, from, position, type, agent, url, once } = options
  const lineOf = chosen('--format', FORMATS, format)
  const start = chosen('--from', STARTS, from)
  const file = position === undefined ? null : await PositionFile.open(position)
  let isStuck = false
  const code = await followServer(url, 'audit:read', async ({ client, access, signal }) => {
    endUnfinishedLine()
    const faults = new FaultNotices(access.baseUrl)
    // The server checks the type.
    const query = { type, agent_id: agent, after: file?.after ?? start, limit: PAGE_ENTRIES } as AuditFollowQuery
    const following = { signal, untilEnd: once, onRetry: faults.tell }
    try {
      for await (const { data, next_cursor } of client.audit.follow(query, following)) {
        faults.over()
        await writeLines(data.map(lineOf), signal)
        await file?.save(next_cursor)
      }
    } catch (error) {
      isStuck = error instanceof StuckOutputError
      throw file === null ? error : explained(error, file)
    }
  })
  file?.close()
  // The write in progress would keep the process alive.
  if (isStuck) process.exit(code)
  return code
}

/** The most of a page. */
const PAGE_ENTRIES = 200

function chosen<T>(option: string, choices: Readonly<Record<string, T>>, given: string): T {
  if (Object.hasOwn(choices, given)) return choices[given] as T
  throw usageError(`${option} must be one of ${Object.keys(choices).join(', ')}.`)
}

/** Says what to do about a position that the server refuses. */
function explained(error: unknown, { path, after }: PositionFile): unknown {
  if (!ApiError.isInstance(error) || error.code !== 'invalid_cursor' || after === null) return error
  return new CommandError(
    EXIT.usage,
    `The server refuses the position in ${path}: ${error.message} The position is of another server, or the audit log was ` +
      'rewritten or restored. The file is unchanged. To begin again, name a new file with --position, and where to begin with --from.',
    { cause: error },
  )
}

/** Reports faults that pass, each once until the server answers again. */
class FaultNotices {
  #told = ''

  constructor(private readonly baseUrl: string) {}

  readonly tell = ({ message }: Error): void => {
    if (message === this.#told) return
    this.#told = message
    writeNotice('warn', `${this.baseUrl} gives no entries now: ${message}. The command tries again.`, {})
  }

  over(): void {
    this.#told = ''
  }
}
