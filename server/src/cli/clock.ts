import { EXIT, fail } from './exit.js'
import { orderFromServer } from './operator-order.js'
import { serverData } from './server-data.js'

/** A server looks for orders twice a second. */
const ANSWER_MS = 5_000

/** Tells the running server of this data directory that the system clock, which jumped, is right. */
export async function clockConfirm(): Promise<number> {
  const { dataDir } = serverData()
  const answer = await orderFromServer(dataDir, { clock: 'confirm' }, ANSWER_MS)
  if (answer === null)
    return fail(
      new Error(`No server with DATA_DIR ${dataDir} answered. One that starts believes the system clock by itself.`),
      EXIT.failure,
    )
  if ('refused' in answer) return fail(new Error(answer.refused), EXIT.failure)
  process.stdout.write('The server goes by the system clock again.\n')
  return EXIT.ok
}
