/** A proof as the server answers it, and every way in which it could be of something else. */
import { generateKeyPairSync } from 'node:crypto'
import {
  leafHashOfText,
  ProofError,
  parseCheckpoint,
  parseNote,
  proofFileText,
  verifyEntryProof,
} from '@countersign/audit-log'
import type { AuditEntry, EntryProof, InclusionProof } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { type Export, entryOf, exportOf, publicKey, signed, verifyEd25519 } from './export/export-of.js'
import { pathOf } from './reference-tree.js'

const logs = ['a', 'b', 'c'].map((log) => Array.from({ length: 23 }, (_, index) => entryOf(log, index)))
const whole = exportOf(logs)

const base64 = (hash: Uint8Array) => Buffer.from(hash).toString('base64')

function inclusionOf(leaves: readonly Uint8Array[], index: number, checkpoint: string): InclusionProof {
  const proof = pathOf(index, leaves)
  return { index, path: proof.map(base64), checkpoint, proof: proofFileText({ index, proof, checkpoint }) }
}

/** As the server makes it, of an entry of the n-th log. */
function proofOf({ notes }: Export, n: number, index: number): EntryProof {
  const entries = logs[n] as AuditEntry[]
  const at = notes.findLastIndex((note) => note.includes(`/log/${entries[0]?.log}\n`))
  const { size } = parseCheckpoint(parseNote(notes[at] as string).text)
  const leaves = entries.slice(0, size).map(({ leaf }) => new Uint8Array(Buffer.from(leaf, 'base64url')))
  const below = notes.slice(0, -1).map(leafHashOfText)
  return {
    entry: entries[index] as AuditEntry,
    inclusion: inclusionOf(leaves, index, notes[at] as string),
    checkpoint_inclusion: inclusionOf(below, at, notes.at(-1) as string),
  }
}

const verify = (proof: EntryProof, publicKeys = [publicKey]) =>
  verifyEntryProof(proof, { verify: verifyEd25519, publicKeys })
const true9 = proofOf(whole, 1, 9)
const changed = (member: 'inclusion' | 'checkpoint_inclusion', changes: Partial<InclusionProof>): EntryProof => {
  const { index, path, checkpoint } = { ...(true9[member] as InclusionProof), ...changes }
  const proof = path.map((hash) => new Uint8Array(Buffer.from(hash, 'base64')))
  const file = proofFileText({ index, proof, checkpoint })
  return { ...true9, [member]: { index, path, checkpoint, proof: file, ...changes } }
}

describe('the proof of an entry', () => {
  it('shows the checkpoints that it is under, for every entry', async () => {
    for (const n of logs.keys())
      for (const index of (logs[n] as AuditEntry[]).keys()) {
        const { log, root } = await verify(proofOf(whole, n, index))
        expect([log.origin, log.size]).toEqual([`decisions.example/log/${'abc'[n]}`, 23])
        expect([root.origin, root.size]).toEqual(['decisions.example/root', whole.notes.length - 1])
      }
  })

  it('needs the signature of the root log alone: the key of an idle log may be gone', async () => {
    const { notes, lines } = exportOf(logs, 7, generateKeyPairSync('ed25519').privateKey)
    const other = { lines, notes: notes.with(-1, signed(parseNote(notes.at(-1) as string).text)) }
    expect((await verify(proofOf(other, 0, 3))).log.size).toBe(23)
    await expect(verify(proofOf({ lines, notes }, 0, 3))).rejects.toThrow(ProofError)
  })

  const of = (n: number, index: number) => proofOf(whole, n, index)
  const path = true9.inclusion?.path as readonly string[]
  const rootNote = true9.checkpoint_inclusion?.checkpoint as string
  it.each<[string, EntryProof]>([
    ['a changed entry', { ...true9, entry: { ...true9.entry, actor: null } }],
    ['a changed entry with its leaf hash', { ...true9, entry: entryOf('b', 9, { actor: null }) }],
    ['another entry of the log', { ...true9, entry: of(1, 8).entry }],
    ['an entry of another log', { ...true9, entry: of(0, 9).entry }],
    ['the same contents said to be of another log', { ...of(0, 9), entry: { ...of(0, 9).entry, log: 'b' } }],
    ['another place', changed('inclusion', { index: 8 })],
    ['a path that is too short', changed('inclusion', { path: path.slice(1) })],
    ['a path that is too long', changed('inclusion', { path: [...path, path[0] as string] })],
    ['a path in another order', changed('inclusion', { path: path.toReversed() })],
    ['a path in another spelling', changed('inclusion', { path: path.map((hash) => hash.replaceAll('=', '')) })],
    ['a file that proves something else', changed('inclusion', { proof: of(1, 8).inclusion?.proof as string })],
    ['an earlier checkpoint of the log', changed('inclusion', { checkpoint: whole.notes[1] as string })],
    ['the checkpoint of another log', changed('inclusion', { checkpoint: of(0, 9).inclusion?.checkpoint as string })],
    ['no note', changed('inclusion', { checkpoint: 'decisions.example/log/b\n' })],
    ['another place in the root log', changed('checkpoint_inclusion', { index: 0 })],
    ['the proof of another checkpoint', { ...true9, checkpoint_inclusion: of(0, 9).checkpoint_inclusion }],
    ['a log in the place of the root log', { ...true9, checkpoint_inclusion: true9.inclusion }],
    [
      'a signature of another text',
      changed('checkpoint_inclusion', {
        checkpoint: rootNote.replace('decisions.example/root', 'decisions.other/root'),
      }),
    ],
    ['no checkpoint yet', { ...true9, inclusion: null, checkpoint_inclusion: null }],
    ['no place in the root log', { ...true9, checkpoint_inclusion: null }],
  ])('does not show %s', async (_, proof) => {
    await expect(verify(proof)).rejects.toThrow(ProofError)
  })

  it('shows nothing to somebody who has other keys, or none', async () => {
    await expect(verify(true9, [])).rejects.toThrow('No known key has signed it')
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
    await expect(verify(true9, [new Uint8Array(other)])).rejects.toThrow(ProofError)
    expect((await verify(true9, [new Uint8Array(other), publicKey])).root.size).toBe(whole.notes.length - 1)
  })
})
