import type { StoredKey } from './documents.js'
import type { OnDamaged } from './errors.js'

export interface KeyStore {
  /** @param onDamaged gets the error of each damaged row, which is then left out; absent: the first one rejects the read */
  load(onDamaged?: OnDamaged): Promise<readonly StoredKey[]>
  /** Returns when each key was last used, to the minute; a crash may lose some. */
  loadUses(): Promise<ReadonlyMap<string, string>>
  saveUses(uses: ReadonlyMap<string, string>): Promise<void>
}
