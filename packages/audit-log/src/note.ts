/** Signed notes: a text, followed by the lines of its signatures. Source: C2SP signed-note. */
import { sha256 } from '#sha256'
import { fromBase64, toBase64 } from './base64.js'

/** The text is not a note, or no known key has signed it. */
export class NoteError extends Error {
  override readonly name = 'NoteError'
}

/** What a signature covers, and how: the byte that C2SP has assigned. */
export const SIGNATURE_TYPES = { ed25519: 0x01, cosignature: 0x04 } as const
export type SignatureType = (typeof SIGNATURE_TYPES)[keyof typeof SIGNATURE_TYPES]

export interface NoteSignature {
  /** The name of the key. */
  readonly name: string
  readonly keyId: Uint8Array
  readonly signature: Uint8Array
}

export interface Note {
  /** Includes its last newline: the signatures cover it. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** A trusted key. */
export interface NoteKey {
  readonly name: string
  readonly type: SignatureType
  /** 32 bytes (RFC 8032). */
  readonly publicKey: Uint8Array
}

/** Whether a key has signed the message with Ed25519 (RFC 8032). Node and browsers have different functions for it. */
export type VerifyEd25519 = (
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean | Promise<boolean>

const ED25519_KEY_BYTES = 32
const KEY_ID_BYTES = 4
const MAX_CHARACTERS = 65_536
const SIGNATURE_LINE = /^— ([^\s+]+) ([A-Za-z0-9+/=]+)$/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a note must not hold.
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/
const HALF_CHARACTER = /\p{Surrogate}/u

/** Returns the four bytes that distinguish keys of the same name. */
export function noteKeyId({ name, type, publicKey }: NoteKey): Uint8Array {
  const head = new TextEncoder().encode(`${name}\n`)
  return sha256(Uint8Array.from([...head, type, ...publicKey])).slice(0, KEY_ID_BYTES)
}

/** Whether a signature claims to be of this key. */
export function isKeyOf(key: NoteKey, { name, keyId }: Pick<NoteSignature, 'name' | 'keyId'>): boolean {
  return key.name === name && noteKeyId(key).every((byte, i) => byte === keyId[i])
}

/** Returns a key as one line: `<name>+<key id>+<base64 of type and key>`. */
export function verifierKey(key: NoteKey): string {
  const id = [...noteKeyId(key)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${key.name}+${id}+${toBase64(Uint8Array.from([key.type, ...key.publicKey]))}`
}

/** @throws NoteError when it is not a key of a known type */
export function parseVerifierKey(text: string): NoteKey {
  const [, name, , encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u.exec(text) ?? []
  const bytes = encoded === undefined ? null : fromBase64(encoded)
  const type = Object.values(SIGNATURE_TYPES).find((known) => known === bytes?.[0])
  if (name === undefined || bytes === null || type === undefined || bytes.length !== 1 + ED25519_KEY_BYTES)
    throw new NoteError('It is not a verifier key of the form <name>+<key id>+<base64>, for Ed25519.')
  const key = { name, type, publicKey: bytes.slice(1) }
  if (verifierKey(key) !== text) throw new NoteError('The key id is not that of the key.')
  return key
}

/** Returns the line of a signature, with its newline. */
export function signatureLine({ name, keyId, signature }: NoteSignature): string {
  return `— ${name} ${toBase64(Uint8Array.from([...keyId, ...signature]))}\n`
}

/** Returns the whole note. @param text with its last newline */
export function noteText({ text, signatures }: Note): string {
  return `${text}\n${signatures.map(signatureLine).join('')}`
}

/** @throws NoteError when it is not a signed note; its signatures are not verified */
export function parseNote(note: string): Note {
  if (note.length > MAX_CHARACTERS) throw new NoteError(`It is longer than ${MAX_CHARACTERS} characters.`)
  if (CONTROL.test(note)) throw new NoteError('It holds a control character.')
  if (HALF_CHARACTER.test(note)) throw new NoteError('It holds half a character.')
  const end = note.lastIndexOf('\n\n')
  if (end < 0) throw new NoteError('It has no empty line before its signatures.')
  const lines = note.slice(end + 2).split('\n')
  if (lines.pop() !== '' || lines.length === 0) throw new NoteError('It does not end with the line of a signature.')
  return { text: note.slice(0, end + 1), signatures: lines.map(parseSignatureLine) }
}

function parseSignatureLine(line: string): NoteSignature {
  const [, name, encoded] = SIGNATURE_LINE.exec(line) ?? []
  const bytes = encoded === undefined ? null : fromBase64(encoded)
  if (name === undefined || bytes === null || bytes.length <= KEY_ID_BYTES)
    throw new NoteError('A line below the text is not a signature of the form — <name> <base64>.')
  return { name, keyId: bytes.slice(0, KEY_ID_BYTES), signature: bytes.slice(KEY_ID_BYTES) }
}

export interface Signer {
  readonly key: NoteKey
  /** Seconds since 1970; null for a signature without a time. */
  readonly atSeconds: number | null
}

/**
 * Returns which of these keys have signed the note. Ignores the signatures of others.
 *
 * @throws NoteError when a signature in the name of one of these is wrong, or none of them has signed
 */
export async function verifyNote(
  { text, signatures }: Note,
  keys: readonly NoteKey[],
  verify: VerifyEd25519,
): Promise<Signer[]> {
  const signers: Signer[] = []
  for (const { name, keyId, signature } of signatures) {
    const key = keys.find((one) => isKeyOf(one, { name, keyId }))
    if (key === undefined) continue
    const { message, signed, atSeconds } = signedBy(key, text, signature)
    if (!(await verify(key.publicKey, message, signed)))
      throw new NoteError(`The signature of ${name} is not of this text.`)
    signers.push({ key, atSeconds })
  }
  if (signers.length === 0) throw new NoteError('No known key has signed it.')
  return signers
}

/**
 * The same for keys without a name: a checkpoint is signed in the name of its origin.
 *
 * @param publicKeys 32 bytes each
 * @throws NoteError as `verifyNote` does
 */
export function verifyNoteByKeys(
  note: Note,
  publicKeys: readonly Uint8Array[],
  verify: VerifyEd25519,
): Promise<Signer[]> {
  const names = [...new Set(note.signatures.map(({ name }) => name))]
  const { ed25519: type } = SIGNATURE_TYPES
  return verifyNote(
    note,
    names.flatMap((name) => publicKeys.map((publicKey) => ({ name, type, publicKey }))),
    verify,
  )
}

const ED25519_SIGNATURE_BYTES = 64
const TIME_BYTES = 8

/** Returns the bytes of a note that a key signs, by its type. */
function signedBy({ name, type }: NoteKey, text: string, signature: Uint8Array) {
  const timeBytes = type === SIGNATURE_TYPES.cosignature ? TIME_BYTES : 0
  if (signature.length !== timeBytes + ED25519_SIGNATURE_BYTES)
    throw new NoteError(`The signature of ${name} does not have the length of one.`)
  const signed = signature.slice(timeBytes)
  if (timeBytes === 0) return { message: new TextEncoder().encode(text), signed, atSeconds: null }
  const at = new DataView(signature.buffer, signature.byteOffset).getBigUint64(0)
  if (at > Number.MAX_SAFE_INTEGER)
    throw new NoteError(`The signature of ${name} has a time that is too far in the future.`)
  return { message: cosignedMessage(text, Number(at)), signed, atSeconds: Number(at) }
}

/**
 * Returns the bytes that a witness signs.
 *
 * @param text of the checkpoint
 * @param atSeconds since 1970
 *
 * Source: C2SP tlog-cosignature, v1.
 */
export function cosignedMessage(text: string, atSeconds: number): Uint8Array {
  return new TextEncoder().encode(`cosignature/v1\ntime ${atSeconds}\n${text}`)
}

/** Returns the signature of a witness as its line contains it: the time, then the signature of `cosignedMessage`. */
export function cosignature(atSeconds: number, signature: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(TIME_BYTES + signature.length)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(atSeconds))
  bytes.set(signature, TIME_BYTES)
  return bytes
}
