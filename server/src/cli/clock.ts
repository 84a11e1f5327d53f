import { EXIT, failure } from './exit.js'
import { sendAdminCommand } from './send-admin-command.js'
import { serverData } from './server-data.js'

/** A server polls its admin commands twice a second. */
const ANSWER_MS = 5_000

/** Confirms to the running server of this data directory that the system clock is right although it jumped. */
export async function clockConfirm(): Promise<number> {
  const { dataDir } = serverData()
  const result = await sendAdminCommand(dataDir, { clock: 'confirm' }, ANSWER_MS)
  if (result === null)
    throw failure(
      `No server with DATA_DIR ${dataDir} answered. A server that starts trusts the system clock without this command.`,
    )
  if ('refused' in result) throw failure(result.refused)
  process.stdout.write('The server follows the system clock again.\n')
  return EXIT.ok
}
