/** The keys that sign permits: this process's own, and those of the processes that share its store. */
import { openKeyring } from '../adapters/keyring/keyring.js'
import { SharedSigningKeys } from '../state/shared-signing-keys.js'
import { findLostEntry, newestEntryMemory, recordLoss } from '../use-cases/signing-keys/lost-entries.js'
import { recordSigningKeys } from '../use-cases/signing-keys/record.js'
import type { Base } from './parts.js'

export type SigningKeys = Awaited<ReturnType<typeof openSigningKeys>>

/**
 * Opens the keys, joins the other processes, and records in the audit log how the keys changed since the last start.
 *
 * @throws KeyFileError, LostEntriesError, StoreUnavailableError
 */
export async function openSigningKeys({ config, clock, log, store, writer, address, acceptsLoss = false }: Base) {
  const keyring = await openKeyring({ dataDir: config.dataDir, clock })
  const lost = await findLostEntry({ memory: keyring, store, log }, acceptsLoss)
  const sharedKeys = store.replicas && new SharedSigningKeys(keyring, store.replicas, clock)

  const issuer = config.issuer ?? address
  for (const other of (await sharedKeys?.join(issuer)) ?? [])
    if (other !== issuer)
      log.warn({ issuer, other_issuer: other }, 'another replica has another issuer: set ISSUER to the same on all')
  await recordSigningKeys({ signer: keyring, store, writer })
  if (lost !== null) await recordLoss(writer, clock.now().toISOString(), lost)

  return {
    keyring,
    /** Null when the store is not shared. */
    sharedKeys,
    signer: sharedKeys ?? keyring,
    permits: { issuer, audience: config.permitAudience ?? issuer },
    /** Has the keyring remember the newest entry of the audit log. */
    remember: newestEntryMemory({ memory: keyring, writer, log }),
    /** Publishes and records how the keyring changed. */
    async recordChange() {
      await sharedKeys?.publish()
      await recordSigningKeys({ signer: keyring, store, writer })
    },
  }
}
