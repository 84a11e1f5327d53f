import { type DecisionProof, DecisionProofSchema } from '@countersign/contract'
import { replaceFile } from '../../durable-files/replace-file.js'
import { failure } from '../exit.js'
import { serverAccess } from '../server-access.js'
import { askServer } from './call-server.js'
import { proveFromExport } from './export-proof.js'
import { assertPlace } from './out-file.js'
import { permitClaimsOf, readPermit } from './permit-file.js'
import { findingOf, report } from './verdict.js'

export interface AuditProveOptions {
  readonly out?: string
  readonly export?: string
  readonly url?: string
}

/** Writes the proof of all entries of a decision. @param decision its id, or a file with its permit */
export async function auditProve(decision: string, { out, export: file, url }: AuditProveOptions): Promise<number> {
  if (out !== undefined) assertPlace(out)
  const id = decision.startsWith('dec_') ? decision : permitClaimsOf(await readPermit(decision)).jti
  let proof: DecisionProof
  try {
    proof = file === undefined ? await proveByServer(id, url) : await proveFromExport(file, id)
  } catch (error) {
    return report(findingOf(error))
  }
  if (proof.decision_id !== id) throw failure(`The server returned the proof of ${proof.decision_id}, not of ${id}.`)
  const uncovered = proof.data.find(({ inclusion }) => inclusion === null)
  if (uncovered !== undefined || proof.data.length === 0) {
    const what =
      uncovered === undefined
        ? `There is no entry for ${id}.`
        : `${uncovered.entry.id} is not covered by a checkpoint yet. Repeat the command.`
    return report({ result: 'incomplete', lines: [what] })
  }
  const text = `${JSON.stringify(proof, null, 2)}\n`
  if (out === undefined) process.stdout.write(text)
  else await replaceFile(out, text)
  return 0
}

function proveByServer(id: string, url: string | undefined): Promise<DecisionProof> {
  const path = `/v1/audit/proof?decision_id=${encodeURIComponent(id)}`
  return askServer(serverAccess(url, 'audit:read'), path, DecisionProofSchema)
}
