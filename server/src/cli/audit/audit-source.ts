/** Where the commands get the audit logs from: a server, or its data. */
import { ApiError } from '@countersign/client'
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

/** It may take any time, but the server may neither be silent for long nor send a line without an end. */
async function* exportOf(access: ServerAccess): AsyncGenerator<Uint8Array, void, undefined> {
  const client = openClient(access)
  try {
    yield* piecesOf(client.audit.export())
  } catch (error) {
    if (!ApiError.isInstance(error)) throw error
    throw new CommandError(exitCodeOfStatus(error.status), error.message, { cause: error })
  } finally {
    client.close()
  }
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
