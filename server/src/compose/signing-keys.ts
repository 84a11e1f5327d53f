/** The keys that sign permits: this process's own, and those of the processes that share its store. */
import { openKeyring } from '../adapters/keyring/keyring.js'
import type { Config } from '../config.js'
import { SharedSigningKeys } from '../state/shared-signing-keys.js'
import { findLostEntry, newestEntryMemory, recordLoss } from '../use-cases/signing-keys/lost-entries.js'
import { recordSigningKeys } from '../use-cases/signing-keys/record.js'
import type { Base, Parts } from './parts.js'

export type SigningKeys = Awaited<ReturnType<typeof openSigningKeys>>

/**
 * Opens the keys, joins the other processes, and records in the audit log what happened to the keys since the last start.
 *
 * @throws what the keyring refuses to open with; LostEntriesError
 */
export async function openSigningKeys(
  { clock, log, store, writer }: Base,
  { dataDir, issuer: givenIssuer, permitAudience }: Config,
  { address, acceptsLoss = false }: Parts,
) {
  const keyring = await openKeyring({ dataDir, clock })
  const lost = await findLostEntry({ memory: keyring, store, log }, acceptsLoss)
  const sharedKeys = store.replicas && new SharedSigningKeys(keyring, store.replicas, clock)

  const issuer = givenIssuer ?? address
  for (const other of (await sharedKeys?.join(issuer)) ?? [])
    if (other !== issuer)
      log.warn(
        { issuer, other_issuer: other },
        'another replica has a different issuer: set the same ISSUER on all replicas',
      )
  await recordSigningKeys({ signer: keyring, store, writer })
  if (lost !== null) await recordLoss(writer, clock.now().toISOString(), lost)

  return {
    keyring,
    /** Null when the store is not shared. */
    sharedKeys,
    signer: sharedKeys ?? keyring,
    permits: { issuer, audience: permitAudience ?? issuer },
    /** Has the keyring remember the newest entry of the audit log. */
    remember: newestEntryMemory({ memory: keyring, writer, log }),
    /** Publishes and records what has changed in the keyring. */
    async recordChange() {
      await sharedKeys?.publish()
      await recordSigningKeys({ signer: keyring, store, writer })
    },
  }
}
