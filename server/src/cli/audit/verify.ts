import { CommandError, EXIT } from '../exit.js'
import { readKeptNotes } from './kept-notes.js'
import { readKeySets, trustedKeysOf, verifyEd25519, witnessKeysOf } from './trusted-keys.js'
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
  readonly json?: boolean
}

/** Verifies an export, a proof, or two checkpoints: what the options name. */
export async function auditVerify(file: string | undefined, options: AuditVerifyOptions): Promise<number> {
  assertOneThing(file, options)
  const { jwks, kept = [], witnessKey = [], budgets = [], proof, permit, from, to, json } = options
  const keySet = await readKeySets(jwks)
  if (from !== undefined) return report(await verifyCheckpoints({ from, to, proof, keys: trustedKeysOf(keySet) }), json)
  if (proof !== undefined) return report(await verifyProof({ proof, permit, keySet }), json)
  const witnesses = witnessKeysOf(witnessKey)
  const notes = await Promise.all(kept.map((one) => readKeptNotes(one, witnesses, verifyEd25519)))
  const checkpoints = notes.flat().map(({ checkpoint }) => checkpoint)
  return report(
    await verifyExport({ file: file as string, keys: trustedKeysOf(keySet), kept: checkpoints, budgets }),
    json,
  )
}

/** What has no effect is refused: somebody would believe that it was checked. */
function assertOneThing(file: string | undefined, options: AuditVerifyOptions): void {
  const { kept, witnessKey, budgets, proof, permit, from, to } = options
  const usage = (message: string) => new CommandError(EXIT.usage, message)
  if (file !== undefined && (proof ?? permit ?? from ?? to) !== undefined)
    throw usage('Name an export, or a proof with --proof, or a checkpoint with --from: one of them.')
  if (file === undefined && (kept ?? witnessKey ?? budgets) !== undefined)
    throw usage('--kept, --witness-key and --budgets belong to an export: name it.')
  if (file === undefined && proof === undefined && from === undefined)
    throw usage('Name an export (- for standard input), or use --proof or --from.')
  if (witnessKey !== undefined && kept === undefined) throw usage('--witness-key belongs to --kept.')
  if (permit !== undefined && (proof === undefined || from !== undefined))
    throw usage('--permit belongs to --proof, without --from.')
  if (to !== undefined && from === undefined) throw usage('--to belongs to --from.')
}
