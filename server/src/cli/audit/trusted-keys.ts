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
import type { Jwks } from '@countersign/contract'
import { z } from 'zod'
import { CommandError, EXIT } from '../exit.js'
import { readJson } from './input.js'

export const verifyEd25519: VerifyEd25519 = (publicKey, message, signature) => {
  const x = Buffer.from(publicKey).toString('base64url')
  return verify(null, message, createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } }), signature)
}

export function trustedKeysOf({ keys }: Jwks): TrustedKeys {
  return { publicKeys: keys.map(({ x }) => new Uint8Array(Buffer.from(x, 'base64url'))), verify: verifyEd25519 }
}

/** RFC 7517, section 5: what is unknown in a set is passed over. */
const KeySetSchema = z.object({ keys: z.array(z.unknown()) })
const UsableKeySchema = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  kid: z.string().default(''),
  /** 32 bytes. */
  x: z.string().regex(/^[\w-]{43}$/),
})

/**
 * The Ed25519 keys of all of these key sets, each once.
 *
 * @throws CommandError for what is no key set, and for one without such a key
 */
export async function readKeySets(sources: readonly string[]): Promise<Jwks> {
  const sets = await Promise.all(sources.map(readUsableKeys))
  return { keys: [...new Map(sets.flat().map((key) => [`${key.kid} ${key.x}`, key])).values()] }
}

async function readUsableKeys(source: string): Promise<Jwks['keys']> {
  const { keys } = await readJson(source, KeySetSchema, 'a key set of a server')
  const usable = keys.flatMap((key) => {
    const { data } = UsableKeySchema.safeParse(key)
    return data === undefined ? [] : [{ ...data, alg: 'EdDSA', use: 'sig' } as const]
  })
  if (usable.length > 0) return usable
  throw new CommandError(
    EXIT.usage,
    `${source} has no Ed25519 key. Give the key set of the server: it is at /.well-known/jwks.json.`,
  )
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
