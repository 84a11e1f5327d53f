import { pipeline } from 'node:stream/promises'
import { printable } from '@countersign/client/text'
import { replaceFile } from '../../durable-files/replace-file.js'
import { ExportGapError } from '../../use-cases/audit/export.js'
import { EXIT, failure, usageError } from '../exit.js'
import { type AuditSource, serverSource, withStoreSource } from './audit-source.js'
import { isUrl } from './input.js'
import { assertPlace } from './out-file.js'
import { witnessKeysOf } from './trusted-keys.js'
import { findingOf, report } from './verdict.js'
import { giveToWitnesses, type Witnesses } from './witness.js'

export interface AuditExportOptions {
  readonly out?: string
  readonly offline?: boolean
  readonly witness?: readonly string[]
  readonly witnessKey?: readonly string[]
  readonly checkpointOnly?: boolean
  readonly url?: string
}

/**
 * First sends the newest checkpoint to the witnesses, then exports the logs: so the export has that checkpoint in its
 * past, and can be verified with what the witnesses keep.
 */
export async function auditExport(options: AuditExportOptions): Promise<number> {
  const witnesses = witnessesOf(options)
  const work = async (source: AuditSource): Promise<number> => {
    try {
      for (const line of await giveToWitnesses(source, witnesses)) process.stderr.write(`${printable(line)}\n`)
      if (options.checkpointOnly !== true) await write(source, options.out)
    } catch (error) {
      if (error instanceof ExportGapError) throw failure(`${error.message} ${GAP_FIX}`)
      return report(findingOf(error))
    }
    return EXIT.ok
  }
  if (options.offline === true && options.url !== undefined)
    throw usageError('--offline does not contact a server: omit --url.')
  if (options.out !== undefined) assertPlace(options.out)
  return options.offline === true ? withStoreSource(work) : work(serverSource(options.url))
}

const GAP_FIX = 'The export ends there. Find out who removed it, and restore a backup.'

async function write(source: AuditSource, out: string | undefined): Promise<void> {
  const lines = await source.exportLines()
  try {
    if (out === undefined) await pipeline(lines, process.stdout, { end: false })
    else await replaceFile(out, lines)
  } catch (cause) {
    const { code, syscall, message } = cause as NodeJS.ErrnoException
    // A reader that closes early, such as `head`, is not a fault.
    if (code === 'EPIPE') return
    if (out === undefined || syscall === undefined) throw cause
    throw failure(`Cannot write ${out}: ${message}. Free some space, or name another file with --out.`, cause)
  }
}

/** @throws CommandError for options that do not fit together */
function witnessesOf({ witness = [], witnessKey = [], checkpointOnly, out }: AuditExportOptions): Witnesses {
  const urls = witness.filter(isUrl)
  const files = witness.filter((one) => !isUrl(one))
  if (checkpointOnly === true && witness.length === 0) throw usageError('--checkpoint-only needs a --witness.')
  if (checkpointOnly === true && out !== undefined) throw usageError('--checkpoint-only exports nothing: omit --out.')
  if (urls.length > 0 && files.length === 0)
    throw usageError(
      'Also name a file with --witness: it stores the checkpoint with the signature of the witness at the URL.',
    )
  if (urls.length > 0 && witnessKey.length === 0) throw usageError('Name the key of the witness with --witness-key.')
  if (urls.length === 0 && witnessKey.length > 0) throw usageError('--witness-key needs a --witness that is a URL.')
  return { files, urls, keys: witnessKeysOf(witnessKey) }
}
