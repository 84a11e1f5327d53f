import { isDeepStrictEqual } from 'node:util'
import type { MoveNote } from '../../ports/store/move.js'
import { EXIT, failure } from '../exit.js'
import type { MoveSettings } from './settings.js'
import type { Source } from './source.js'
import type { OnTarget } from './target.js'

/**
 * Goes back to the embedded store. The database is made unusable first, so that at no moment a server may open both.
 *
 * @throws CommandError when a server uses the database or has written there
 */
export async function undo(
  source: Source,
  onTarget: OnTarget,
  note: MoveNote | null,
  { dataDir, address }: MoveSettings,
): Promise<number> {
  if (note === null) throw failure(`The data in ${dataDir} were not moved. Nothing was changed.`)
  const state = await onTarget((target) => target.state())
  const isOfMove = 'id' in state && state.id === note.id
  if (isOfMove) await giveUp(source, onTarget, note.id, state.kind === 'completed')
  // It was dropped, or the move never reached it.
  else if (note.to !== address)
    throw failure(`MongoDB at ${address} is not the database of this move, which is ${note.to}. Nothing was changed.`)
  await source.move.note(null)
  process.stdout.write(
    `The server uses the data in ${dataDir} again: start it without MONGODB_URL. Drop the database ${address}.\n`,
  )
  return EXIT.ok
}

async function giveUp(source: Source, onTarget: OnTarget, id: string, wasCompleted: boolean): Promise<void> {
  if (wasCompleted) await assertUnchanged(source, onTarget)
  await onTarget((target) => target.giveUp(id))
  if (!wasCompleted) return
  // A server may have started in between.
  try {
    await assertUnchanged(source, onTarget)
  } catch (error) {
    await onTarget((target) => target.complete(id))
    throw error
  }
}

/** @throws CommandError */
async function assertUnchanged(source: Source, onTarget: OnTarget): Promise<void> {
  if (await onTarget((target) => target.isServed()))
    throw failure('A server uses the database. Stop it, and wait 15 seconds. Nothing was changed.')
  const [ends, found] = [await source.audit.listLogs(), await onTarget((target) => target.listLogs())]
  const [signed, signedThere] = [
    await source.move.count('checkpoints'),
    await onTarget((target) => target.count('checkpoints')),
  ]
  if (!isDeepStrictEqual(ends, found) || signed !== signedThere)
    throw failure('A server has written to the database since the move, so there is no way back. Nothing was changed.')
}
