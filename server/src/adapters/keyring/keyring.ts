import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  importSigningKey,
  mintPermit,
  mintPermitSync,
  type PermitClaims,
  type PublicKeySet,
  type SigningKey,
} from '@countersign/permit'
import type { Clock } from '../../ports/clock.js'
import type { Signer, SigningKeyChange, SigningKeyInfo } from '../../ports/signer.js'
import { readKeyFile, writeKeyFile } from './key-file.js'
import {
  changesBetween,
  firstKeys,
  publishedKeys,
  revokeKey,
  rotateKeys,
  type StoredSigningKey,
  withoutOver,
} from './key-states.js'

export interface KeyringOptions {
  /** The folder of `signing-keys.json`; made when absent. */
  readonly dataDir: string
  readonly clock: Clock
}

export interface OpenedKeyring {
  readonly keyring: Keyring
  /** What opening did: the two keys of a first start, else nothing. */
  readonly changes: SigningKeyChange[]
}

/**
 * Opens the signing keys in `DATA_DIR/signing-keys.json`, and makes an active and a next key when there is no file.
 *
 * @throws KeyFileError when the file is damaged or open to other users; it is left as it is
 */
export async function openKeyring({ dataDir, clock }: KeyringOptions): Promise<OpenedKeyring> {
  const path = join(dataDir, 'signing-keys.json')
  const kept = await readKeyFile(path)
  if (kept !== null) return { keyring: new Keyring(path, clock, kept), changes: [] }
  const made = firstKeys(clock.now())
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await writeKeyFile(path, made)
  return { keyring: new Keyring(path, clock, made), changes: changesBetween([], made) }
}

/** The signing keys in one file. Another process may change the file: `watch` takes its changes over. */
export class Keyring implements Signer {
  private active: SigningKey
  private lastChange: Promise<unknown> = Promise.resolve()
  private signing = 0
  private watcher: NodeJS.Timeout | undefined

  /** Use `openKeyring`. */
  constructor(
    private readonly path: string,
    private readonly clock: Clock,
    private keys: readonly StoredSigningKey[],
  ) {
    this.active = activeKey(keys)
  }

  /**
   * Signs on this thread when nothing else is being signed, which is soonest; else on the thread pool, which leaves
   * this thread to the requests that wait.
   */
  async sign(claims: PermitClaims): Promise<string> {
    this.signing += 1
    if (this.signing === 1) {
      // Until the loop comes round, whoever else wants to sign is waiting at the same time: that is load.
      setImmediate(() => {
        this.signing -= 1
      })
      return mintPermitSync(this.active, claims)
    }
    try {
      return await mintPermit(this.active, claims)
    } finally {
      this.signing -= 1
    }
  }

  jwks(): PublicKeySet {
    return publishedKeys(this.keys, this.clock.now())
  }

  list(): SigningKeyInfo[] {
    return withoutOver(this.keys, this.clock.now()).map(({ jwk: _, ...info }) => info)
  }

  rotate(): Promise<SigningKeyChange[]> {
    return this.change((keys) => rotateKeys(keys, this.clock.now()))
  }

  revoke(kid: string): Promise<SigningKeyChange[]> {
    return this.change((keys) => revokeKey(keys, kid, this.clock.now()))
  }

  /**
   * Takes over what another process wrote into the file (`countersign signing-keys rotate` beside a running server),
   * and answers what it changed.
   *
   * @throws KeyFileError when the file is damaged or open to other users; the keys stay as they were
   */
  reload(): Promise<SigningKeyChange[]> {
    return this.change((keys) => keys)
  }

  /**
   * Reloads the file every `intervalMs` (default 1000). Does not keep the process alive. `onChanges` gets what changed,
   * `onError` why the file cannot be taken over: once, until it can be again.
   */
  watch(onChanges: (changes: SigningKeyChange[]) => void, onError: (error: unknown) => void, intervalMs = 1000): void {
    let isFailing = false
    const look = async () => {
      try {
        const changes = await this.reload()
        isFailing = false
        if (changes.length > 0) onChanges(changes)
      } catch (error) {
        if (!isFailing) onError(error)
        isFailing = true
      }
    }
    this.close()
    this.watcher = setInterval(look, intervalMs).unref()
  }

  /** Stops watching. */
  close(): void {
    clearInterval(this.watcher)
  }

  /** One change after the other, each made from what the file holds at that moment. */
  private change(
    step: (keys: readonly StoredSigningKey[]) => readonly StoredSigningKey[],
  ): Promise<SigningKeyChange[]> {
    const change = this.lastChange.then(async () => {
      const kept = (await readKeyFile(this.path)) ?? this.keys
      const changed = step(kept)
      if (changed !== kept) await writeKeyFile(this.path, changed)
      const changes = changesBetween(this.keys, changed)
      this.active = activeKey(changed)
      this.keys = changed
      return changes
    })
    this.lastChange = change.catch(() => undefined)
    return change
  }
}

function activeKey(keys: readonly StoredSigningKey[]): SigningKey {
  const active = keys.find((key) => key.state === 'active')
  if (active === undefined || !('d' in active.jwk)) throw new Error('There is no active signing key.')
  return importSigningKey(active.jwk)
}
