/** The public keys that the audit log commands trust. */
import { NoteError, type NoteKey, parseVerifierKey, SIGNATURE_TYPES, type TrustedKeys } from '@countersign/audit-log'
import type { Jwks } from '@countersign/contract'
import { z } from 'zod'
import { verifyEd25519 } from '../../use-cases/audit/verify-ed25519.js'
import { usageError } from '../exit.js'
import { readJson } from './input.js'

export function trustedKeysOf({ keys }: Jwks): TrustedKeys {
  return { publicKeys: keys.map(({ x }) => new Uint8Array(Buffer.from(x, 'base64url'))), verify: verifyEd25519 }
}

/** RFC 7517, section 5: unknown members of a set are ignored. */
const KeySetSchema = z.object({ keys: z.array(z.unknown()) })
const UsableKeySchema = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  kid: z.string().default(''),
  /** 32 bytes. */
  x: z.string().regex(/^[\w-]{43}$/),
})

/**
 * Reads the Ed25519 keys of all these key sets, each once.
 *
 * @throws CommandError for a text that is not a key set, and for one without such a key
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
  throw usageError(`${source} has no Ed25519 key. Give the key set of the server: it is at /.well-known/jwks.json.`)
}

/** @throws CommandError for a text that is not a key of a witness */
export function witnessKeysOf(texts: readonly string[]): NoteKey[] {
  return texts.map((text) => {
    try {
      const key = parseVerifierKey(text)
      if (key.type !== SIGNATURE_TYPES.cosignature) throw new NoteError('It is a key of a log, not of a witness.')
      return key
    } catch (cause) {
      throw usageError(`--witness-key ${text}: ${(cause as Error).message}`, cause)
    }
  })
}
