/**
 * `signing-keys.json`. It is checked when read, and replaced atomically, so that a crash leaves the old file or the new
 * one.
 */
import { open } from 'node:fs/promises'
import { importSigningKey } from '@countersign/permit'
import { z } from 'zod'
import { assertNoFolder } from '../../durable-files/assert-no-folder.js'
import { replaceFile } from '../../durable-files/replace-file.js'
import type { LogPosition } from '../../ports/store/audit.js'
import type { StoredSigningKey } from './key-states.js'

/** The file of signing keys cannot be used. The message names the file and says what to do. The server must not start. */
export class KeyFileError extends Error {
  override readonly name = 'KeyFileError'
}

/** Windows has no permission bits. */
const IS_POSIX = process.platform !== 'win32'

const PublicJwkSchema = z.strictObject({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  kid: z.string(),
  alg: z.literal('EdDSA'),
  use: z.literal('sig'),
})
const PrivateJwkSchema = PublicJwkSchema.extend({ d: z.string() })
const TimeSchema = z.iso.datetime()
const common = { kid: z.string(), created_at: TimeSchema, activated_at: TimeSchema.nullable() }
const inUse = { published_until: z.null(), revoked_at: z.null(), jwk: PrivateJwkSchema }
const KeySchema = z.discriminatedUnion('state', [
  z.strictObject({ ...common, ...inUse, state: z.literal('next'), activated_at: z.null() }),
  z.strictObject({ ...common, ...inUse, state: z.literal('active') }),
  z.strictObject({
    ...common,
    state: z.literal('retiring'),
    published_until: TimeSchema,
    revoked_at: z.null(),
    jwk: PublicJwkSchema,
  }),
  z.strictObject({
    ...common,
    state: z.literal('revoked'),
    published_until: z.null(),
    revoked_at: TimeSchema,
    jwk: PublicJwkSchema,
  }),
])
const PlaceSchema = z.strictObject({ log: z.string(), index: z.int().min(0) })
const KeyFileSchema = z.strictObject({
  version: z.literal(1),
  keys: z.array(KeySchema),
  newest_entry: PlaceSchema.nullable().default(null),
  remembers_checkpoints: z.boolean().default(false),
})

export interface KeyFile {
  readonly keys: readonly StoredSigningKey[]
  /** The newest position in the audit log that was written with these keys; it may lag. */
  readonly newest_entry: LogPosition | null
  /** Whether `checkpoints.ndjson` has existed next to it: from then on its absence is a fault. */
  readonly remembers_checkpoints: boolean
}

/**
 * Reads the keys; null when there is no file.
 *
 * @throws KeyFileError when group or others may read the file, or when it is damaged
 */
export async function readKeyFile(path: string): Promise<KeyFile | null> {
  let text: string
  try {
    text = await readPrivately(path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) return null
    throw error
  }
  try {
    const { version: _, ...kept } = KeyFileSchema.parse(JSON.parse(text))
    assertCoherent(kept.keys)
    return kept
  } catch (cause) {
    throw new KeyFileError(
      `The signing keys in ${path} are damaged, or written by a newer Countersign. Nothing was changed. Restore the file ` +
        'from a backup. If you have none, move the file away: the next start creates new keys, and earlier permits no longer verify.',
      { cause },
    )
  }
}

/** Replaces the file, mode 0600. Durable once the promise resolves. The caller must hold the lock of the keys. */
export function writeKeyFile(path: string, file: KeyFile): Promise<void> {
  return replaceFile(path, `${JSON.stringify({ version: 1, ...file }, null, 2)}\n`)
}

async function readPrivately(path: string): Promise<string> {
  assertNoFolder(path)
  const file = await open(path, 'r')
  try {
    const { mode } = await file.stat()
    if (IS_POSIX && (mode & 0o077) !== 0) {
      const octal = (mode & 0o777).toString(8).padStart(4, '0')
      throw new KeyFileError(
        `The signing keys in ${path} are open to other users of this machine (mode ${octal}). Run: chmod 600 ${path}` +
          ' If someone may have read them, also rotate and revoke them: countersign signing-keys.',
      )
    }
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

function assertCoherent(keys: readonly StoredSigningKey[]): void {
  for (const state of ['next', 'active'] as const) {
    const { length } = keys.filter((key) => key.state === state)
    if (length !== 1) throw new Error(`There are ${length} keys in state ${state}, not 1.`)
  }
  if (new Set(keys.map((key) => key.kid)).size !== keys.length) throw new Error('Two keys have the same kid.')
  for (const { kid, jwk } of keys) {
    if (jwk.kid !== kid) throw new Error(`The key ${kid} holds the JWK of ${jwk.kid}.`)
    if ('d' in jwk) importSigningKey(jwk)
  }
}
