/** The source of the audit logs for the commands: a server, or its data. */
import { LineError, parseExportLine } from '@countersign/audit-log'
import { ApiError, UnavailableError } from '@countersign/client'
import { printable } from '@countersign/client/text'
import { CheckpointsSchema, type ConsistencyProof, ConsistencyProofSchema } from '@countersign/contract'
import { CheckpointFile } from '../../adapters/checkpoint-memory/checkpoint-file.js'
import { findRewrite } from '../../feed/trees/find-rewrite.js'
import type { Store } from '../../ports/store/store.js'
import { proveConsistency, readTrees } from '../../use-cases/audit/checkpoints.js'
import { type AuditExport, ExportGapError, exportLogs } from '../../use-cases/audit/export.js'
import { checkpointKeysOf } from '../checkpoint-keys.js'
import { CommandError, exitCodeOfStatus, failure } from '../exit.js'
import { openClient } from '../open-client.js'
import { type ServerAccess, serverAccess } from '../server-access.js'
import { serverData } from '../server-data.js'
import { type OpenedStore, readStore } from '../with-store.js'
import { askedFor, askServer, rewritten } from './call-server.js'
import { whileBusy } from './while-busy.js'

export interface AuditSource {
  /** Proves that the newest checkpoint of the root log extends this size; null when it is smaller. */
  readonly proveRoot: (from: number) => Promise<ConsistencyProof | null>
  /** The lines of an export, in pieces. */
  readonly exportLines: () => Promise<AsyncIterable<string | Uint8Array>>
}

/** Uses a running server. */
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
 * The export may take any time, but the server must not be silent for long or send an endless line.
 *
 * @throws CommandError that names the server
 */
async function* exportOf(access: ServerAccess): AsyncGenerator<Uint8Array, void, undefined> {
  const client = openClient(access)
  try {
    const begun = await whileBusy(access.baseUrl, () => begin(client.audit.export()))
    yield* piecesOf(beginningWithCheckpoint(linesOf(begun)))
  } catch (cause) {
    throw faultOf(access.baseUrl, cause)
  } finally {
    client.close()
  }
}

/** An export up to its first line. */
interface Begun {
  readonly first: IteratorResult<Uint8Array>
  readonly rest: AsyncIterator<Uint8Array>
}

async function begin(lines: AsyncIterable<Uint8Array>): Promise<Begun> {
  const rest = lines[Symbol.asyncIterator]()
  return { first: await rest.next(), rest }
}

async function* linesOf({ first, rest }: Begun): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}

function faultOf(url: string, cause: unknown): unknown {
  if (cause instanceof ExportGapError)
    return new ExportGapError(`${url} did not return a complete export: ${printable(cause.message)}`)
  if (ApiError.isInstance(cause) && cause.code === 'log_rewritten') return rewritten(url, cause.detail)
  if (ApiError.isInstance(cause))
    return new CommandError(
      exitCodeOfStatus(cause.status),
      `${url}: ${cause.message}${askedFor(cause.retryAfterSeconds)}`,
      { cause },
    )
  if (cause instanceof LineError) return failure(`${url} did not return an export. ${cause.message}`, cause)
  if (!UnavailableError.isInstance(cause)) return cause
  const advice =
    'Repeat the command. If it fails again, check that the server runs at this URL and that the API key was not revoked.'
  return failure(`${url} did not return a complete export: ${printable(cause.message)}. ${advice}`, cause)
}

/** Checking the other lines is the task of `verify`. @throws LineError for a text that is not an export */
async function* beginningWithCheckpoint(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let isFirst = true
  for await (const line of lines) {
    if (PROBLEM.equals(line.subarray(0, PROBLEM.length))) throw new ExportGapError(problemIn(line))
    if (isFirst) assertCheckpoint(line)
    isFirst = false
    yield line
  }
  if (isFirst) throw new LineError('It has no line.')
}

/** The last line of a server that lacks data which a checkpoint covers. */
const PROBLEM = Buffer.from('{"problem":')

function problemIn(line: Uint8Array): string {
  const parsed = parseExportLine(line)
  return parsed.kind === 'problem' ? parsed.problem : ''
}

function assertCheckpoint(line: Uint8Array): void {
  try {
    if (parseExportLine(line).kind === 'checkpoint') return
  } catch (cause) {
    if (!(cause instanceof LineError)) throw cause
    throw new LineError(`Line 1: ${cause.message}`)
  }
  throw new LineError('Line 1: It is not a checkpoint.')
}

const NEWLINE = Buffer.from('\n')
/** Writing each line separately would take longer than everything else. */
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
 * Uses the data of the server on this machine. The export lacks entries without a checkpoint, which only a server
 * creates.
 *
 * @throws CommandError while an embedded server runs
 */
export function withStoreSource<T>(work: (source: AuditSource) => Promise<T>): Promise<T> {
  const config = serverData()
  return readStore(config, 'Export from it, without --offline, or stop it.', (opened) =>
    work({
      async proveRoot(from) {
        const { store } = opened
        const { root } = await readTrees(store)
        if (root.checkpoint === null || root.checkpoint.size < from) return null
        return proveConsistency({ store }, null, from)
      },
      async exportLines() {
        const { pieces, entriesBehind } = await exportOfData(config.dataDir, opened)
        if (entriesBehind > 0)
          process.stderr.write(
            `${entriesBehind} entries are not in the export, because no checkpoint covers them yet. A running server signs one within a second.\n`,
          )
        return pieces
      },
    }),
  )
}

/**
 * Exports data that extend what their server has signed.
 *
 * @throws ProofError when they do not
 */
export async function exportOfData(
  dataDir: string,
  { store, clock }: Pick<OpenedStore, 'store' | 'clock'>,
): Promise<AuditExport> {
  const keys = () => checkpointKeysOf({ dataDir, clock }, store.replicas)
  const found = await findRewrite(store, await new CheckpointFile(dataDir).read(), keys)
  if (found !== null) throw rewritten(dataDir, found)
  return exportWithoutServer(store)
}

/** Exports what checkpoints cover: without a server no new checkpoint is created. */
export function exportWithoutServer(store: Store): Promise<AuditExport> {
  return exportLogs({ store, catchUp: async () => {} }, async () => {})
}
