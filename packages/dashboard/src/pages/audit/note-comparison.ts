import type { ConsistencyProof } from '@countersign/contract'
import { proveConsistency } from '../../api/audit'
import { ApiError } from '../../api/client'
import { readJwks } from '../../api/jwks'
import type { KeptNote } from '../../verifier/kept-note'

/** Whether a log continues from a saved checkpoint note. */
export type NoteComparison =
  | { readonly result: 'no note' }
  | { readonly result: 'continues'; readonly kept: KeptNote; readonly newestSize: number }
  | { readonly result: 'differs'; readonly kept: KeptNote; readonly why: string }

/** Requests a proof from the server and verifies it in this browser. @throws ApiError, CannotVerifyError */
export async function compareNote(text: string): Promise<NoteComparison> {
  const [{ newestAfter, readKeptNote }, jwks] = await Promise.all([import('../../verifier/kept-note'), readJwks()])
  const kept = await readKeptNote(text, jwks)
  if (kept === null) return { result: 'no note' }
  const proof = await proofFrom(kept)
  if (typeof proof === 'string') return { result: 'differs', kept, why: proof }
  const newest = await newestAfter(kept, proof, jwks)
  if (newest === null)
    return { result: 'differs', kept, why: 'The server did not prove that it starts with the same entries.' }
  return { result: 'continues', kept, newestSize: newest.size }
}

/** @returns the proof, or what its absence says about the log */
async function proofFrom({ log, size }: KeptNote): Promise<ConsistencyProof | string> {
  try {
    return await proveConsistency(log, size)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 404) return 'The server has no checkpoint for this log.'
    if (error.problem?.errors?.some(({ pointer }) => pointer === '/from'))
      return 'The server’s log is now shorter than that.'
    throw error
  }
}
