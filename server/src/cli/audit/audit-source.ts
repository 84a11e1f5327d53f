/** Where the commands get the audit logs from: a server, or its data. */
import { CheckpointsSchema, type ConsistencyProof, ConsistencyProofSchema } from '@countersign/contract'
import { proveConsistency, readTrees } from '../../use-cases/audit/checkpoints.js'
import { exportLogs } from '../../use-cases/audit/export.js'
import { CommandError, EXIT } from '../exit.js'
import { serverAccess } from '../server-access.js'
import { serverData } from '../server-data.js'
import { withStore } from '../with-store.js'
import { askServer, callServer } from './call-server.js'

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
    async exportLines() {
      const { body } = await callServer(access, '/v1/audit/export')
      return (body ?? []) as AsyncIterable<Uint8Array>
    },
  }
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
