import { pipeline } from 'node:stream/promises'
import { printable } from '@countersign/client/kernel'
import { replaceFile } from '@countersign/durable-files'
import { CommandError, EXIT } from '../exit.js'
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
 * First the witnesses get the newest checkpoint, then the logs are exported: so the export has that checkpoint in its past, and
 * is verified with what the witnesses keep.
 */
export async function auditExport(options: AuditExportOptions): Promise<number> {
  const witnesses = witnessesOf(options)
  const work = async (source: AuditSource): Promise<number> => {
    try {
      for (const line of await giveToWitnesses(source, witnesses)) process.stderr.write(`${printable(line)}\n`)
    } catch (error) {
      const finding = findingOf(error)
      if (finding === null) throw error
      return report(finding)
    }
    if (options.checkpointOnly !== true) await write(source, options.out)
    return EXIT.ok
  }
  if (options.offline === true && options.url !== undefined)
    throw new CommandError(EXIT.usage, '--offline asks no server: leave out --url.')
  if (options.out !== undefined) assertPlace(options.out)
  return options.offline === true ? withStoreSource(work) : work(serverSource(options.url))
}

async function write(source: AuditSource, out: string | undefined): Promise<void> {
  const lines = await source.exportLines()
  try {
    if (out === undefined) await pipeline(lines, process.stdout, { end: false })
    else await replaceFile(out, lines)
  } catch (cause) {
    const { code, syscall, message } = cause as NodeJS.ErrnoException
    // A reader that has seen enough, such as `head`, is no fault.
    if (code === 'EPIPE') return
    if (out === undefined || syscall === undefined) throw cause
    throw new CommandError(
      EXIT.failure,
      `Cannot write ${out}: ${message}. Make room, or name another file with --out.`,
      { cause },
    )
  }
}

/** @throws CommandError for options that do not fit together */
function witnessesOf({ witness = [], witnessKey = [], checkpointOnly, out }: AuditExportOptions): Witnesses {
  const urls = witness.filter(isUrl)
  const files = witness.filter((one) => !isUrl(one))
  const usage = (message: string) => new CommandError(EXIT.usage, message)
  if (checkpointOnly === true && witness.length === 0) throw usage('--checkpoint-only needs a --witness.')
  if (checkpointOnly === true && out !== undefined) throw usage('--checkpoint-only exports nothing: leave out --out.')
  if (urls.length > 0 && files.length === 0)
    throw usage('Name a file with --witness, too: it keeps the checkpoint with what the witness at the URL has signed.')
  if (urls.length > 0 && witnessKey.length === 0) throw usage('Name the key of the witness with --witness-key.')
  if (urls.length === 0 && witnessKey.length > 0) throw usage('--witness-key belongs to a --witness that is a URL.')
  return { files, urls, keys: witnessKeysOf(witnessKey) }
}
