import { DamagedRecordError, StoreUnavailableError } from '../../ports/store/errors.js'
import type { MoveTarget } from '../../ports/store/move.js'
import { failure } from '../exit.js'
import type { MoveSettings } from './settings.js'

/** Uses a target: its failures become sentences without the credentials of its URL. */
export type OnTarget = <T>(work: (target: MoveTarget) => Promise<T>) => Promise<T>

/** @throws CommandError */
export async function withTarget<T>({ url }: MoveSettings, use: (onTarget: OnTarget) => Promise<T>): Promise<T> {
  // Loaded only now, because the driver takes longer to load than anything else.
  const { openMoveTarget } = await import('../../stores/mongodb/open-move.js')
  const { mongoFailure } = await import('../../stores/mongodb/connection/failure.js')
  const inWords = async <R>(work: Promise<R>): Promise<R> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof DamagedRecordError || !(error instanceof StoreUnavailableError)) throw error
      throw failure(
        `${mongoFailure(url, error)} A move that has begun stays as it is: run the command again to continue.`,
      )
    }
  }
  const target = await inWords(openMoveTarget(url))
  try {
    return await use((work) => inWords(work(target)))
  } finally {
    await target.close()
  }
}
