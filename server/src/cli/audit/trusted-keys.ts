/** The public keys that the commands about the audit log trust. */
import { createPublicKey, verify } from 'node:crypto'
import {
  NoteError,
  type NoteKey,
  parseVerifierKey,
  SIGNATURE_TYPES,
  type TrustedKeys,
  type VerifyEd25519,
} from '@countersign/audit-log'
import { type Jwks, JwksSchema } from '@countersign/contract'
import { CommandError, EXIT } from '../exit.js'
import { readJson } from './input.js'

export const verifyEd25519: VerifyEd25519 = (publicKey, message, signature) => {
  const x = Buffer.from(publicKey).toString('base64url')
  return verify(null, message, createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } }), signature)
}

export function trustedKeysOf({ keys }: Jwks): TrustedKeys {
  return { publicKeys: keys.map(({ x }) => new Uint8Array(Buffer.from(x, 'base64url'))), verify: verifyEd25519 }
}

/** The keys of all of these key sets, each once. */
export async function readKeySets(sources: readonly string[]): Promise<Jwks> {
  const sets = await Promise.all(sources.map((source) => readJson(source, JwksSchema, 'a key set of a server')))
  const byKid = new Map(sets.flatMap(({ keys }) => keys).map((key) => [key.kid, key]))
  return { keys: [...byKid.values()] }
}

/** @throws CommandError for a text that is no key of a witness */
export function witnessKeysOf(texts: readonly string[]): NoteKey[] {
  return texts.map((text) => {
    try {
      const key = parseVerifierKey(text)
      if (key.type !== SIGNATURE_TYPES.cosignature) throw new NoteError('It is a key of a log, not of a witness.')
      return key
    } catch (cause) {
      throw new CommandError(EXIT.usage, `--witness-key ${text}: ${(cause as Error).message}`, { cause })
    }
  })
}
