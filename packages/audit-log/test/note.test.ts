import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { checkpointText, parseCheckpoint } from '#audit-log/checkpoint'
import {
  cosignature,
  cosignedMessage,
  NoteError,
  type NoteKey,
  noteKeyId,
  noteText,
  parseNote,
  parseVerifierKey,
  SIGNATURE_TYPES,
  type SignatureType,
  type VerifyEd25519,
  verifierKey,
  verifyNote,
} from '#audit-log/note'
import { EMPTY_ROOT } from '#audit-log/tree'

const verifyEd25519: VerifyEd25519 = (publicKey, message, signature) => {
  const x = Buffer.from(publicKey).toString('base64url')
  return verify(null, message, createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }), signature)
}

/** Somebody who signs notes. */
function signer(name: string, type: SignatureType = SIGNATURE_TYPES.ed25519) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const x = Buffer.from(publicKey.export({ format: 'jwk' }).x as string, 'base64url')
  const key: NoteKey = { name, type, publicKey: new Uint8Array(x) }
  return {
    key,
    sign(text: string, atSeconds = 1_700_000_000) {
      const isCosigner = type === SIGNATURE_TYPES.cosignature
      const message = isCosigner ? cosignedMessage(text, atSeconds) : Buffer.from(text)
      const signed = new Uint8Array(sign(null, message, privateKey))
      return { name, keyId: noteKeyId(key), signature: isCosigner ? cosignature(atSeconds, signed) : signed }
    },
  }
}

const LOG = signer('log.example/a1')
const WITNESS = signer('witness.example/w1', SIGNATURE_TYPES.cosignature)
const STRANGER = signer('stranger.example')
const TEXT = checkpointText({ origin: 'log.example/a1', size: 0, root: EMPTY_ROOT })
const both = noteText({ text: TEXT, signatures: [LOG.sign(TEXT), WITNESS.sign(TEXT)] })

describe('a signed note', () => {
  it('is that of the Go tools', async () => {
    const key = parseVerifierKey('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW')
    const note = [
      'If you think cryptography is the answer to your problem,',
      'then you don’t know what your problem is.'.replace('’', "'"),
      '',
      '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=',
      '',
    ].join('\n')
    expect(await verifyNote(parseNote(note), [key], verifyEd25519)).toEqual([{ key, atSeconds: null }])
    expect(noteText(parseNote(note))).toBe(note)
  })

  it('names those of the known keys who have signed it, and when', async () => {
    const note = parseNote(both)
    expect(note.text).toBe(TEXT)
    expect(await verifyNote(note, [WITNESS.key, LOG.key], verifyEd25519)).toEqual([
      { key: LOG.key, atSeconds: null },
      { key: WITNESS.key, atSeconds: 1_700_000_000 },
    ])
    expect(await verifyNote(note, [WITNESS.key, STRANGER.key], verifyEd25519)).toHaveLength(1)
  })

  it('that nobody known has signed is refused', async () => {
    const refused = verifyNote(parseNote(both), [STRANGER.key], verifyEd25519)
    await expect(refused).rejects.toThrow('No known key has signed it.')
    // The same name, and another key.
    const namesake = signer('log.example/a1')
    await expect(verifyNote(parseNote(both), [namesake.key], verifyEd25519)).rejects.toThrow(NoteError)
  })

  it('with a wrong signature in the name of a known key is refused, no matter who else has signed it', async () => {
    for (const signature of [LOG.sign('another text\n'), WITNESS.sign('another text\n')]) {
      const note = { text: TEXT, signatures: [LOG.sign(TEXT), WITNESS.sign(TEXT), signature] }
      const refused = verifyNote(note, [LOG.key, WITNESS.key], verifyEd25519)
      await expect(refused).rejects.toThrow(`The signature of ${signature.name} is not of this text.`)
    }
    const short = { ...LOG.sign(TEXT), signature: new Uint8Array(63) }
    const refused = verifyNote({ text: TEXT, signatures: [short] }, [LOG.key], verifyEd25519)
    await expect(refused).rejects.toThrow('does not have the length')
    const later = WITNESS.sign(TEXT)
    later.signature[7] = (later.signature[7] as number) + 1
    const moved = verifyNote({ text: TEXT, signatures: [later] }, [WITNESS.key], verifyEd25519)
    await expect(moved).rejects.toThrow('is not of this text')
  })

  it('is changed by any byte that is', async () => {
    const bytes = Buffer.from(both)
    for (const i of bytes.keys()) {
      const changed = Buffer.from(bytes)
      changed[i] = (changed[i] as number) ^ 1
      const outcome = await Promise.resolve()
        .then(() => verifyNote(parseNote(changed.toString()), [LOG.key, WITNESS.key], verifyEd25519))
        .catch((error: unknown) => error)
      // A name or key id that is unknown makes a signature one to ignore.
      if (Array.isArray(outcome)) expect(outcome, `byte ${i}`).toHaveLength(1)
      else expect(outcome, `byte ${i}`).toBeInstanceOf(NoteError)
    }
  })

  it.each([
    ['', 'no empty line'],
    ['text\n', 'no empty line'],
    ['text\n\n', 'does not end'],
    ['text\n\n— a AAAAAAA=', 'does not end'],
    ['text\n\n— a AAAAAA==\n', 'not a signature'],
    ['text\n\n— a b AAAAAAA=\n', 'not a signature'],
    ['text\n\n— a+b AAAAAAA=\n', 'not a signature'],
    ['text\n\n- a AAAAAAA=\n', 'not a signature'],
    ['text\n\n— a AAAAAAB=\n', 'not a signature'],
    ['text\n\n— a AAAA_AA=\n', 'not a signature'],
    ['te\rxt\n\n— a AAAAAAA=\n', 'control character'],
    ['te\u0000xt\n\n— a AAAAAAA=\n', 'control character'],
    ['te\ud800xt\n\n— a AAAAAAA=\n', 'half a character'],
    [`${'x'.repeat(70_000)}\n\n— a AAAAAAA=\n`, 'longer than'],
  ])('of another form is refused: %j', (note, message) => {
    expect(() => parseNote(note.slice(0, 80_000))).toThrow(message)
  })
})

describe('a verifier key', () => {
  it('is read as it was written', () => {
    for (const { key } of [LOG, WITNESS]) expect(parseVerifierKey(verifierKey(key))).toEqual(key)
  })

  it.each([
    '',
    'name',
    verifierKey(LOG.key).replace('log', 'lot'),
    verifierKey(LOG.key).slice(0, -4),
    'PeterNeumann+c74f20a3+AhpxWQcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
    'PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  ])('of another form is refused: %j', (text) => {
    expect(() => parseVerifierKey(text)).toThrow(NoteError)
  })
})

describe('a checkpoint', () => {
  it('is read as it was written', () => {
    const checkpoint = { origin: 'log.example/a1', size: 20_852_163, root: EMPTY_ROOT }
    expect(parseCheckpoint(checkpointText(checkpoint))).toEqual(checkpoint)
  })

  it('is that of the standard', () => {
    const text = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n'
    const checkpoint = parseCheckpoint(text)
    expect(checkpoint).toMatchObject({ origin: 'example.com/behind-the-sofa', size: 20_852_163 })
    expect(checkpointText(checkpoint)).toBe(text)
  })

  const root = Buffer.from(EMPTY_ROOT).toString('base64')
  it.each([
    `\n3\n${root}\n`,
    `a b\n3\n${root}\n`,
    `a+b\n3\n${root}\n`,
    `a\n03\n${root}\n`,
    `a\n-3\n${root}\n`,
    `a\n3.0\n${root}\n`,
    `a\n1e3\n${root}\n`,
    `a\n9007199254740993\n${root}\n`,
    `a\n\n${root}\n`,
    `a\n3\n${root}`,
    `a\n3\n${root}\nmore\n`,
    `a\n3\n${root}\n\n`,
    `a\n3\n${root.slice(0, -1)}\n`,
    `a\n3\n${root.replace('=', 'A=')}\n`,
    'a\n3\n',
  ])('of another form is refused: %j', (text) => {
    expect(() => parseCheckpoint(text)).toThrow(NoteError)
  })
})
