import type { Checkpoint } from '@countersign/audit-log'
import { verifyEd25519 } from '../../use-cases/audit/verify-ed25519.js'
import { usageError } from '../exit.js'
import { readKeptNotes } from './kept-notes.js'
import type { RecordSource } from './records/record-source.js'
import { serverRecords } from './records/server-records.js'
import { withBackupRecords, withStoreRecords } from './records/store-records.js'
import { verifyRecords } from './records/verify-records.js'
import { readKeySets, trustedKeysOf, witnessKeysOf } from './trusted-keys.js'
import { report } from './verdict.js'
import { verifyCheckpoints } from './verify-checkpoints.js'
import { verifyExport } from './verify-export.js'
import { verifyProof } from './verify-proof.js'

export interface AuditVerifyOptions {
  readonly jwks: readonly string[]
  readonly kept?: readonly string[]
  readonly witnessKey?: readonly string[]
  readonly budgets?: readonly string[]
  readonly proof?: string
  readonly permit?: string
  readonly from?: string
  readonly to?: string
  readonly records?: boolean
  readonly offline?: boolean
  readonly backup?: string
  readonly url?: string
  readonly json?: boolean
}

/** Verifies what the options name: an export, a proof, two checkpoints, or the records of a server. */
export async function auditVerify(file: string | undefined, options: AuditVerifyOptions): Promise<number> {
  if (options.records === true) return auditVerifyRecords(file, options)
  assertOneThing(file, options)
  const { jwks, budgets = [], proof, permit, from, to, json } = options
  const keySet = await readKeySets(jwks)
  if (from !== undefined) return report(await verifyCheckpoints({ from, to, proof, keys: trustedKeysOf(keySet) }), json)
  if (proof !== undefined) return report(await verifyProof({ proof, permit, keySet }), json)
  const kept = await readKept(options)
  return report(await verifyExport({ file: file as string, keys: trustedKeysOf(keySet), kept, budgets }), json)
}

async function auditVerifyRecords(file: string | undefined, options: AuditVerifyOptions): Promise<number> {
  assertRecordsOnly(file, options)
  const { jwks, offline, backup, url, json } = options
  const keys = trustedKeysOf(await readKeySets(jwks))
  const kept = await readKept(options)
  const work = (source: RecordSource) => verifyRecords(source, { keys, kept })
  if (backup !== undefined) return report(await withBackupRecords(backup, work), json)
  return report(offline === true ? await withStoreRecords(work) : await work(serverRecords(url)), json)
}

async function readKept({ kept = [], witnessKey = [] }: AuditVerifyOptions): Promise<Checkpoint[]> {
  const witnesses = witnessKeysOf(witnessKey)
  const notes = await Promise.all(kept.map((one) => readKeptNotes(one, witnesses, verifyEd25519)))
  return notes.flat().map(({ checkpoint }) => checkpoint)
}

function assertRecordsOnly(file: string | undefined, options: AuditVerifyOptions): void {
  const { budgets, proof, permit, from, to, kept, witnessKey, offline, backup, url } = options
  if (file !== undefined || (budgets ?? proof ?? permit ?? from ?? to) !== undefined)
    throw usageError('--records exports the log and adds up budgets itself: omit the export and other inputs.')
  if ([offline, backup, url].filter((one) => one !== undefined).length > 1)
    throw usageError('Name only one of --url, --offline and --backup.')
  if (witnessKey !== undefined && kept === undefined) throw usageError('--witness-key needs --kept.')
}

/** An option without effect is refused, because a person would believe that it was checked. */
function assertOneThing(file: string | undefined, options: AuditVerifyOptions): void {
  const { kept, witnessKey, budgets, proof, permit, from, to, offline, backup, url } = options
  if (file !== undefined && (proof ?? permit ?? from ?? to) !== undefined)
    throw usageError('Name only one of an export, a proof (--proof) and a checkpoint (--from).')
  if (file === undefined && (kept ?? witnessKey ?? budgets) !== undefined)
    throw usageError('--kept, --witness-key and --budgets need an export: name it.')
  if (file === undefined && proof === undefined && from === undefined)
    throw usageError('Name an export (- for standard input), or use --proof or --from.')
  if ((offline ?? backup ?? url) !== undefined) throw usageError('--offline, --backup and --url need --records.')
  if (witnessKey !== undefined && kept === undefined) throw usageError('--witness-key needs --kept.')
  if (permit !== undefined && (proof === undefined || from !== undefined))
    throw usageError('--permit needs --proof, without --from.')
  if (to !== undefined && from === undefined) throw usageError('--to needs --from.')
}
