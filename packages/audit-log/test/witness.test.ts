import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import {
  addCheckpointBody,
  addCosignatures,
  checkpointText,
  cosignature,
  cosignedMessage,
  EMPTY_ROOT,
  NoteError,
  type NoteKey,
  noteKeyId,
  parseNote,
  parseWitnessedSize,
  signatureLine,
  verifyNote,
} from '@countersign/audit-log'
import { describe, expect, it } from 'vitest'
import { signed, verifyEd25519 } from './export/export-of.js'

const AT = 1_700_000_000
const text = checkpointText({ origin: 'decisions.example/root', size: 7, root: EMPTY_ROOT })
const note = signed(text)

function witness(name: string) {
  const pair = generateKeyPairSync('ed25519')
  const publicKey = new Uint8Array(pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))
  const key: NoteKey = { name, type: 4, publicKey }
  const line = (of = text) => {
    const signature = new Uint8Array(
      sign(null, cosignedMessage(of, AT), createPrivateKey(pair.privateKey.export({ format: 'pem', type: 'pkcs8' }))),
    )
    return signatureLine({ name, keyId: noteKeyId(key), signature: cosignature(AT, signature) })
  }
  return { key, line }
}

const [one, two] = [witness('witness.example/1'), witness('witness.example/2')]

describe('what a witness is sent', () => {
  it('is the old size, the proof, and the checkpoint as it is', () => {
    const proof = [new Uint8Array(32), new Uint8Array(32).fill(1)]
    expect(addCheckpointBody({ oldSize: 5, proof, checkpoint: note })).toBe(
      `old 5\n${'A'.repeat(43)}=\nAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n\n${note}`,
    )
    expect(addCheckpointBody({ oldSize: 0, proof: [], checkpoint: note })).toBe(`old 0\n\n${note}`)
  })
})

describe('what a witness answers', () => {
  it('is the size that it has', () => {
    expect(parseWitnessedSize('20852014\n')).toBe(20_852_014)
    expect(parseWitnessedSize('0\n')).toBe(0)
    for (const answer of ['', '7', '07\n', '-1\n', '7\n\n', '7.5\n', ' 7\n', '99999999999999999999\n', 'seven\n'])
      expect(() => parseWitnessedSize(answer), answer).toThrow(NoteError)
  })

  it('is its signature, which the checkpoint has from then on', async () => {
    const cosigned = await addCosignatures(note, one.line() + two.line(), [one.key], verifyEd25519)
    expect(cosigned).toBe(note + one.line())
    expect(await verifyNote(parseNote(cosigned), [one.key], verifyEd25519)).toEqual([{ key: one.key, atSeconds: AT }])
    const both = await addCosignatures(cosigned, two.line(), [one.key, two.key], verifyEd25519)
    expect(both).toBe(note + one.line() + two.line())
  })

  it.each([
    ['nothing', ''],
    [
      'a signature of another checkpoint',
      one.line(checkpointText({ origin: 'decisions.example/root', size: 8, root: EMPTY_ROOT })),
    ],
    ['a signature of another witness', two.line()],
    ['a page', '<html></html>\n'],
    ['a signature, and the one of another checkpoint', one.line() + one.line(text.replace('7', '8'))],
    ['another text', `more\n\n${one.line()}`],
    ['a line that does not end', one.line().trimEnd()],
  ])('is not believed when it is %s', async (_, answer) => {
    await expect(addCosignatures(note, answer, [one.key], verifyEd25519)).rejects.toThrow(NoteError)
  })

  it('is not believed with the key of a log', async () => {
    await expect(addCosignatures(note, one.line(), [{ ...one.key, type: 1 }], verifyEd25519)).rejects.toThrow(NoteError)
  })
})
