/** The keys that sign permits: this process's own, and those of the processes that share its store. */
import { beginMemory, isRemembering, rememberRestore } from '../adapters/checkpoint-memory/checkpoint-file.js'
import { findKeyring, type Keyring, openKeyring } from '../adapters/keyring/keyring.js'
import { areForeign, knownKeysFile, rememberKeys } from '../adapters/keyring/known-keys.js'
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
  const { dataDir } = config
  // Also covers a restore command that was stopped before it could record the restore.
  if ((await store.isRestored()) && !isRemembering(dataDir)) await rememberRestore(dataDir)
  const hadKeys = (await findKeyring({ dataDir, clock })) !== null
  const keyring = await openKeyring({ dataDir, clock })
  const lost = await findLostEntry({ memory: keyring, store, log }, acceptsLoss)
  if (!keyring.remembersCheckpoints) {
    await beginMemory(dataDir, !hadKeys || !(await isUsed(store)))
    await keyring.noteCheckpoints()
  }
  const sharedKeys = store.replicas && new SharedSigningKeys(keyring, store.replicas, clock)

  const issuer = config.issuer ?? address
  for (const other of (await sharedKeys?.join(issuer)) ?? [])
    if (other !== issuer)
      log.warn({ issuer, other_issuer: other }, 'another replica has a different issuer: set the same ISSUER on all')
  if (!hadKeys && store.replicas === null && (await isUsed(store)))
    log.warn(
      {},
      'the store has been used, and there were no signing keys: earlier permits and checkpoints no longer verify',
    )
  const rememberOwn = () => rememberOrTell(keyring, dataDir, log)
  await rememberOwn()
  await recordSigningKeys({ signer: keyring, store, writer })
  if (lost !== null) {
    await rememberRestore(dataDir)
    await recordLoss(writer, clock.now().toISOString(), lost)
  }

  return {
    keyring,
    /** Null when the store is not shared. */
    sharedKeys,
    signer: sharedKeys ?? keyring,
    permits: { issuer, audience: config.permitAudience ?? issuer },
    /** Lets the keyring remember the newest entry of the audit log. */
    remember: newestEntryMemory({ memory: keyring, writer, log }),
    /** Publishes and records changes of the keyring. */
    async recordChange() {
      await rememberOwn()
      await sharedKeys?.publish()
      await recordSigningKeys({ signer: keyring, store, writer })
    },
  }
}

async function isUsed(store: Base['store']): Promise<boolean> {
  return (await store.audit.list({}, { limit: 1, after: null })).items.length > 0
}

/** Reports at each start when the server's known keys were replaced with unknown ones. */
async function rememberOrTell(keyring: Pick<Keyring, 'list'>, dataDir: string, log: Base['log']): Promise<void> {
  const kids = keyring.list().map(({ kid }) => kid)
  if (!(await areForeign(dataDir, kids))) return rememberKeys(dataDir, kids)
  log.error(
    { file: knownKeysFile(dataDir) },
    'the signing keys are not those that this server has had: signing-keys.json was removed or replaced. Restore it; if the keys were replaced on purpose, remove known-signing-keys.json',
  )
}
