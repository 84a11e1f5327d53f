import { randomUUID } from 'node:crypto'
import { CheckpointFile } from '../../adapters/checkpoint-memory/checkpoint-file.js'
import { findKeyring } from '../../adapters/keyring/keyring.js'
import type { Config } from '../../config.js'
import { Trees } from '../../feed/trees/trees.js'
import type { CommandResult } from '../../ports/admin-command.js'
import { SharedSigningKeys } from '../../state/shared-signing-keys.js'
import { acceptRewrite } from '../../use-cases/audit/accept-rewrite.js'
import { EXIT, failure, writeNotice } from '../exit.js'
import { sendAdminCommand } from '../send-admin-command.js'
import { serverData } from '../server-data.js'
import { type OpenedStore, withStore } from '../with-store.js'

/** A server polls its admin commands twice a second, and builds new trees in between. */
const ANSWER_MS = 10_000

/** Accepts the audit log as the store has it, through the running server of this data directory or without one. */
export async function auditAcceptRewrite(): Promise<number> {
  const config = serverData()
  const result =
    (await sendAdminCommand(config.dataDir, { audit: 'accept-rewrite' }, ANSWER_MS)) ??
    (await withStore(config, (opened) => acceptInStore(config, opened)))
  if (result === null) throw failure('The running server did not accept the log in time. Its log says why.')
  if ('refused' in result) throw failure(result.refused)
  process.stdout.write(
    'Accepted: the server signs the audit log as it is in the store. The log has an entry log.rewrite_accepted. ' +
      'Begin a new file of kept checkpoints, and keep the former one with a note.\n',
  )
  return EXIT.ok
}

async function acceptInStore(config: Config, { store, writer, clock }: OpenedStore): Promise<CommandResult> {
  const { dataDir } = config
  const keyring = await findKeyring({ dataDir, clock })
  if (keyring === null)
    return { refused: `There are no signing keys in ${dataDir}. The server creates them when it starts.` }
  const signer = store.replicas === null ? keyring : new SharedSigningKeys(keyring, store.replicas, clock)
  const holder = randomUUID()
  const trees = new Trees({
    store,
    checked: store,
    holder,
    monotonicMs: () => performance.now(),
    clock,
    log: { info() {}, warn() {}, error: (fields, message) => writeNotice('warn', message, fields) },
    memory: new CheckpointFile(dataDir),
    issuer: config.issuer ?? `http://${config.host}:${config.port}`,
    sign: (text) => signer.signText(text),
    checkpointKeys: () => signer.checkpointKeys(),
    onRewritten: () => {},
    onGaps: () => {},
  })
  try {
    return await acceptRewrite({ clock, writer, trees })
  } finally {
    await store.readers.release(holder)
  }
}
