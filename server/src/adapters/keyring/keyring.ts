import { sign } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  importSigningKey,
  mintPermitSync,
  type PermitClaims,
  type PublicKeySet,
  type SigningKey,
} from '@countersign/permit'
import { type Poll, poll } from '../../concurrency/poll.js'
import { SerialQueue } from '../../concurrency/serial-queue.js'
import { whileLocked } from '../../durable-files/file-lock.js'
import type { Clock } from '../../ports/clock.js'
import {
  EarlyRotationError,
  type Signer,
  type SigningKeyChange,
  type SigningKeyInfo,
  type TextSignature,
} from '../../ports/signer.js'
import type { LogPosition } from '../../ports/store/audit.js'
import { type KeyFile, KeyFileError, readKeyFile, writeKeyFile } from './key-file.js'
import {
  changesBetween,
  firstKeys,
  historyOf,
  nextKnownFrom,
  publishedKeys,
  revokeKey,
  rotateKeys,
  type StoredSigningKey,
  withoutOver,
} from './key-states.js'

export interface KeyringOptions {
  /** The folder of `signing-keys.json`; created when absent. */
  readonly dataDir: string
  readonly clock: Clock
}

/**
 * Opens the signing keys in `DATA_DIR/signing-keys.json`. Creates an active and a next key when there is no file.
 *
 * @throws KeyFileError when the file is damaged or open to other users; it is left as it is
 */
export async function openKeyring({ dataDir, clock }: KeyringOptions): Promise<Keyring> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const path = pathIn(dataDir)
  const make = async () => {
    const kept = await readKeyFile(path)
    if (kept !== null) return kept
    const made = { keys: firstKeys(clock.now()), newest_entry: null, remembers_checkpoints: false }
    await writeKeyFile(path, made)
    return made
  }
  return new Keyring(path, clock, (await readKeyFile(path)) ?? (await whileLocked(lockOf(path), make)))
}

/**
 * Opens existing signing keys; null when there is no file. Creates nothing.
 *
 * @throws KeyFileError as `openKeyring`
 */
export async function findKeyring({ dataDir, clock }: KeyringOptions): Promise<Keyring | null> {
  const path = pathIn(dataDir)
  const kept = await readKeyFile(path)
  return kept === null ? null : new Keyring(path, clock, kept)
}

/**
 * Whether the keys in this folder record that `checkpoints.ndjson` has existed next to them. False when they cannot be
 * read.
 */
export async function areCheckpointsKept(dataDir: string): Promise<boolean> {
  try {
    return (await readKeyFile(pathIn(dataDir)))?.remembers_checkpoints ?? false
  } catch (error) {
    // Unreadable keys cannot sign anything.
    if (error instanceof KeyFileError) return false
    throw error
  }
}

/** The signing keys in one file. Another process may change the file: `watch` loads its changes. */
export class Keyring implements Signer {
  private keys: readonly StoredSigningKey[]
  /** The other members of the file. */
  private beside: Omit<KeyFile, 'keys'>
  private active: SigningKey
  private readonly queue = new SerialQueue()
  private watcher: Poll | undefined

  /** Use `openKeyring` or `findKeyring`. */
  constructor(
    private readonly path: string,
    private readonly clock: Clock,
    { keys, ...beside }: KeyFile,
  ) {
    this.keys = keys
    this.beside = beside
    this.active = activeKey(keys)
  }

  async sign(claims: PermitClaims): Promise<string> {
    return mintPermitSync(this.active, claims)
  }

  async signText(text: string): Promise<TextSignature> {
    const { privateKey, publicJwk } = this.active
    return { publicKey: publicJwk.x, signature: sign(null, Buffer.from(text), privateKey).toString('base64url') }
  }

  async checkpointKeys(): Promise<readonly string[]> {
    return this.keys.filter(({ state }) => state !== 'revoked').map(({ jwk }) => jwk.x)
  }

  jwks(): PublicKeySet {
    return publishedKeys(this.keys, this.clock.now())
  }

  list(): SigningKeyInfo[] {
    return withoutOver(this.keys, this.clock.now()).map(({ jwk: _, ...info }) => info)
  }

  history(): SigningKeyChange[] {
    return historyOf(this.keys)
  }

  rotate({ isForced } = { isForced: false }): Promise<SigningKeyChange[]> {
    return this.change((keys) => {
      const now = this.clock.now()
      const knownFrom = nextKnownFrom(keys)
      if (!isForced && now < knownFrom) throw new EarlyRotationError(knownFrom)
      return rotateKeys(keys, now)
    })
  }

  revoke(kid: string): Promise<SigningKeyChange[]> {
    return this.change((keys) => revokeKey(keys, kid, this.clock.now()))
  }

  /** The newest position in the audit log that the file remembers. A store without it has lost entries. */
  get newestEntry(): LogPosition | null {
    return this.beside.newest_entry
  }

  /** Writes a position, or null, into the file. Durable once the promise resolves. Does not create a missing file. */
  async remember(position: LogPosition | null): Promise<void> {
    const { newestEntry } = this
    if (position?.log !== newestEntry?.log || position?.index !== newestEntry?.index)
      await this.note({ newest_entry: position })
  }

  /** Whether the file records that `checkpoints.ndjson` has existed next to it. */
  get remembersCheckpoints(): boolean {
    return this.beside.remembers_checkpoints
  }

  /**
   * Records that `checkpoints.ndjson` exists next to the file. Durable once the promise resolves. Does not create a
   * missing file.
   */
  noteCheckpoints(): Promise<void> {
    return this.note({ remembers_checkpoints: true })
  }

  private note(members: Partial<Omit<KeyFile, 'keys'>>): Promise<void> {
    return this.queue.run(() =>
      whileLocked(lockOf(this.path), async () => {
        const kept = await readKeyFile(this.path)
        if (kept === null) return
        await writeKeyFile(this.path, { ...kept, ...members })
        // The keys in memory stay unchanged, because `watch` must notice what another process changed in them.
        this.beside = { ...this.beside, ...members }
      }),
    )
  }

  /**
   * Loads the changes of another process (such as `countersign signing-keys rotate` while the server runs). Resolves
   * with its changes.
   *
   * @throws KeyFileError when the file is damaged or open to other users; the keys stay as they were
   */
  reload(): Promise<SigningKeyChange[]> {
    return this.queue.run(async () => this.takeOver(await this.present()))
  }

  /**
   * Reloads the file every `intervalMs` (default 1000). Does not keep the process alive. Calls `onChange` when the keys
   * changed, and again at each later poll until it resolves. Calls `onError` with the reason why the file cannot be
   * loaded, or with the rejection of `onChange`: once, until a poll succeeds again.
   */
  watch(onChange: () => Promise<void>, onError: (error: unknown) => void, intervalMs = 1000): void {
    let isFailing = false
    let isUnreported = false
    const reloadAndReport = async () => {
      isUnreported = (await this.reload()).length > 0 || isUnreported
      if (isUnreported) await onChange()
      isUnreported = false
      isFailing = false
    }
    const reportOnce = (error: unknown) => {
      if (!isFailing) onError(error)
      isFailing = true
    }
    this.watcher = poll(reloadAndReport, { everyMs: intervalMs, onError: reportOnce })
  }

  /** Stops watching, once the poll in progress has ended. */
  async close(): Promise<void> {
    await this.watcher?.stop()
  }

  /** Changes the keys in the file, under its lock. */
  private change(
    step: (keys: readonly StoredSigningKey[]) => readonly StoredSigningKey[],
  ): Promise<SigningKeyChange[]> {
    return this.queue.run(() =>
      whileLocked(lockOf(this.path), async () => {
        const kept = await this.present()
        const keys = step(kept.keys)
        if (keys !== kept.keys) await writeKeyFile(this.path, { ...kept, keys })
        return this.takeOver({ ...kept, keys })
      }),
    )
  }

  private async present(): Promise<KeyFile> {
    return (await readKeyFile(this.path)) ?? { keys: this.keys, ...this.beside }
  }

  private takeOver({ keys, ...beside }: KeyFile): SigningKeyChange[] {
    const changes = changesBetween(this.keys, keys)
    this.active = activeKey(keys)
    this.keys = keys
    this.beside = beside
    return changes
  }
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'signing-keys.json')
}

function lockOf(path: string): string {
  return `${path}.lock`
}

function activeKey(keys: readonly StoredSigningKey[]): SigningKey {
  const active = keys.find((key) => key.state === 'active')
  if (active === undefined || !('d' in active.jwk)) throw new Error('No signing key is active.')
  return importSigningKey(active.jwk)
}
