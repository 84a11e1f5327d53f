/** A consistency proof as the server answers it, to somebody who has kept a checkpoint. */
import { generateKeyPairSync } from 'node:crypto'
import {
  type Checkpoint,
  leafHashOfText,
  ProofError,
  parseCheckpoint,
  parseNote,
  verifyContinuation,
} from '@countersign/audit-log'
import type { ConsistencyProof } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { entryOf, exportOf, publicKey, verifyEd25519 } from './export/export-of.js'
import { proofOf, rootOfLeaves } from './reference-tree.js'

const { notes } = exportOf(['a', 'b'].map((log) => Array.from({ length: 23 }, (_, index) => entryOf(log, index))))
const leaves = notes.slice(0, -1).map(leafHashOfText)
const newest = notes.at(-1) as string

const base64 = (hash: Uint8Array) => Buffer.from(hash).toString('base64')
const kept = (size: number, changes: Partial<Checkpoint> = {}): Checkpoint => {
  return { origin: 'decisions.example/root', size, root: rootOfLeaves(leaves.slice(0, size)), ...changes }
}
const answer = (from: number, changes: Partial<ConsistencyProof> = {}): ConsistencyProof => {
  const path = from === 0 ? [] : proofOf(from, leaves).map(base64)
  return { log: null, from, path, checkpoint: newest, ...changes }
}
const verify = (from: Checkpoint, proof: ConsistencyProof, publicKeys = [publicKey]) =>
  verifyContinuation(from, proof, { verify: verifyEd25519, publicKeys })

describe('the proof that a log goes on', () => {
  it('shows its newest checkpoint, from every size on, also after the issuer has another name', async () => {
    for (let size = 0; size <= leaves.length; size += 1)
      expect((await verify(kept(size), answer(size))).size).toBe(leaves.length)
    expect(await verify(kept(3, { origin: 'former.example/root' }), answer(3))).toEqual(
      parseCheckpoint(parseNote(newest).text),
    )
  })

  const path = answer(3).path
  it.each<[string, Checkpoint, ConsistencyProof]>([
    ['a log that was rewritten', kept(3, { root: leafHashOfText('another') }), answer(3)],
    ['a log that was cut', kept(leaves.length + 1), answer(leaves.length)],
    ['a log with another name', kept(3, { origin: 'decisions.example/log/a' }), answer(3)],
    ['the proof from another size', kept(3), answer(4)],
    ['a path that is too short', kept(3), answer(3, { path: path.slice(1) })],
    ['a path in another order', kept(3), answer(3, { path: path.toReversed() })],
    ['a path that is no hashes', kept(3), answer(3, { path: ['AAAA'] })],
    ['the checkpoint of another log', kept(3), answer(3, { checkpoint: notes[0] as string })],
    ['a checkpoint with another text', kept(3), answer(3, { checkpoint: newest.replace('decisions', 'other') })],
    ['no note', kept(3), answer(3, { checkpoint: 'decisions.example/root\n' })],
  ])('does not show %s', async (_, from, proof) => {
    await expect(verify(from, proof)).rejects.toThrow(ProofError)
  })

  it('shows nothing to somebody who has other keys', async () => {
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
    await expect(verify(kept(3), answer(3), [new Uint8Array(other)])).rejects.toThrow(ProofError)
  })
})
