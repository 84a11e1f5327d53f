/** Where the commands get the audit logs from: a server, or its data. */
import { LineError, parseExportLine } from '@countersign/audit-log'
import { ApiError, UnavailableError } from '@countersign/client'
import { printable } from '@countersign/client/kernel'
import { CheckpointsSchema, type ConsistencyProof, ConsistencyProofSchema } from '@countersign/contract'
import { proveConsistency, readTrees } from '../../use-cases/audit/checkpoints.js'
import { exportLogs } from '../../use-cases/audit/export.js'
import { CommandError, EXIT, exitCodeOfStatus } from '../exit.js'
import { openClient } from '../open-client.js'
import { type ServerAccess, serverAccess } from '../server-access.js'
import { serverData } from '../server-data.js'
import { withStore } from '../with-store.js'
import { askServer } from './call-server.js'

export interface AuditSource {
  /** That the newest checkpoint of the root log goes on from this size; null when that is smaller. */
  readonly proveRoot: (from: number) => Promise<ConsistencyProof | null>
  /** The lines of an export, in pieces. */
  readonly exportLines: () => Promise<AsyncIterable<string | Uint8Array>>
}

/** Works on a running server. */
export function serverSource(url: string | undefined): AuditSource {
  const access = serverAccess(url, 'audit:read')
  return {
    async proveRoot(from) {
      const { root } = await askServer(access, '/v1/audit/checkpoints', CheckpointsSchema)
      if (root === null || root.size < from) return null
      return askServer(access, `/v1/audit/consistency?from=${from}`, ConsistencyProofSchema)
    },
    exportLines: async () => exportOf(access),
  }
}

/**
 * It may take any time, but the server may neither be silent for long nor send a line without an end.
 *
 * @throws CommandError that names the server
 */
async function* exportOf(access: ServerAccess): AsyncGenerator<Uint8Array, void, undefined> {
  const client = openClient(access)
  try {
    yield* piecesOf(beginningWithCheckpoint(client.audit.export()))
  } catch (cause) {
    throw faultOf(access.baseUrl, cause)
  } finally {
    client.close()
  }
}

function faultOf(url: string, cause: unknown): unknown {
  if (ApiError.isInstance(cause))
    return new CommandError(exitCodeOfStatus(cause.status), `${url}: ${cause.message}`, { cause })
  if (cause instanceof LineError)
    return new CommandError(EXIT.failure, `${url} answers with something else than an export. ${cause.message}`, {
      cause,
    })
  if (!UnavailableError.isInstance(cause)) return cause
  const advice =
    'Repeat the command. If it fails again, look whether the server runs at this URL, and whether the API key was revoked.'
  return new CommandError(EXIT.failure, `${url} gave no whole export: ${printable(cause.message)}. ${advice}`, {
    cause,
  })
}

/** Whether the other lines are in order is for `verify` to say. @throws LineError for what is no export at all */
async function* beginningWithCheckpoint(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let isFirst = true
  for await (const line of lines) {
    if (isFirst) assertCheckpoint(line)
    isFirst = false
    yield line
  }
  if (isFirst) throw new LineError('It has no line.')
}

function assertCheckpoint(line: Uint8Array): void {
  try {
    if (parseExportLine(line).kind === 'checkpoint') return
  } catch (cause) {
    if (!(cause instanceof LineError)) throw cause
    throw new LineError(`Line 1: ${cause.message}`)
  }
  throw new LineError('Line 1: It is no checkpoint.')
}

const NEWLINE = Buffer.from('\n')
/** A write for each line would take longer than everything else. */
const PIECE_BYTES = 64 * 1024

/** Lines with their newlines. */
async function* piecesOf(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let piece: Uint8Array[] = []
  let bytes = 0
  for await (const line of lines) {
    piece.push(line, NEWLINE)
    bytes += line.length + NEWLINE.length
    if (bytes < PIECE_BYTES) continue
    yield Buffer.concat(piece)
    piece = []
    bytes = 0
  }
  yield Buffer.concat(piece)
}

/**
 * Works on the data of the server on this machine. What is under no checkpoint yet is not in the export: a server has to make it.
 *
 * @throws CommandError while an embedded server runs
 */
export async function withStoreSource<T>(work: (source: AuditSource) => Promise<T>): Promise<T> {
  const config = serverData()
  const done = await withStore(config, async ({ store }) => ({
    result: await work({
      async proveRoot(from) {
        const { root } = await readTrees(store.feed)
        if (root.checkpoint === null || root.checkpoint.size < from) return null
        return proveConsistency({ store }, null, from)
      },
      async exportLines() {
        const { pieces, entriesBehind } = await exportLogs({ store, catchUp: async () => {} }, async () => {})
        if (entriesBehind > 0)
          process.stderr.write(
            `${entriesBehind} entries are under no checkpoint yet and not in the export: a running server makes one within a second.\n`,
          )
        return pieces
      },
    }),
  }))
  if (done === null)
    throw new CommandError(
      EXIT.failure,
      `A server runs on the data in ${config.dataDir}. Export from it, without --offline, or stop it.`,
    )
  return done.result
}
