import type { ConsistencyProof } from '@countersign/contract'
import { proveConsistency } from '../../api/audit'
import { ApiError } from '../../api/client'
import { readJwks } from '../../api/jwks'
import type { KeptNote } from '../../verifier/kept-note'

/** Whether a log goes on from the note of a checkpoint that somebody has kept. */
export type NoteComparison =
  | { readonly result: 'no note' }
  | { readonly result: 'goes on'; readonly kept: KeptNote; readonly newestSize: number }
  | { readonly result: 'does not go on'; readonly kept: KeptNote; readonly why: string }

/** Has the server prove it, and verifies the proof in this browser. @throws ApiError, CannotVerifyError */
export async function compareNote(text: string): Promise<NoteComparison> {
  const [{ newestAfter, readKeptNote }, jwks] = await Promise.all([import('../../verifier/kept-note'), readJwks()])
  const kept = await readKeptNote(text, jwks)
  if (kept === null) return { result: 'no note' }
  const proof = await proofFrom(kept)
  if (typeof proof === 'string') return { result: 'does not go on', kept, why: proof }
  const newest = await newestAfter(kept, proof, jwks)
  if (newest === null)
    return { result: 'does not go on', kept, why: 'The server does not prove that it has the same beginning.' }
  return { result: 'goes on', kept, newestSize: newest.size }
}

/** @returns why there is none, where that says something of the log */
async function proofFrom({ log, size }: KeptNote): Promise<ConsistencyProof | string> {
  try {
    return await proveConsistency(log, size)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 404) return 'The server has no checkpoint of this log.'
    if (error.problem?.errors?.some(({ pointer }) => pointer === '/from'))
      return 'The log of the server is shorter than that now.'
    throw error
  }
}
