import type { MoveNote } from '../../ports/store/move.js'
import { EXIT, failure } from '../exit.js'
import type { MoveSettings } from './settings.js'
import type { Source } from './source.js'
import type { OnTarget } from './target.js'

/**
 * Goes back to the embedded store, as long as the move is not complete. One write to the database decides: afterwards, no
 * run of the command completes the move. A complete move has no way back, because a server may have decided since.
 */
export async function undo(
  source: Source,
  onTarget: OnTarget,
  note: MoveNote | null,
  { dataDir, address }: MoveSettings,
): Promise<number> {
  if (note === null) throw failure(`The data in ${dataDir} were not moved. Nothing was changed.`)
  if (note.completed_at !== null) throw completed()
  const state = await onTarget((target) => target.giveUp(note.id))
  const isOfMove = 'id' in state && state.id === note.id
  if (isOfMove && state.kind === 'completed') throw completed()
  // It holds nothing of the move if it was dropped, or if the move never reached it.
  if (!isOfMove && note.to !== address)
    throw failure(`MongoDB at ${address} is not the database of this move, which is ${note.to}. Nothing was changed.`)
  await source.move.note(null)
  process.stdout.write(
    `The server uses the data in ${dataDir} again: start it without MONGODB_URL.${isOfMove ? ` Drop the database ${address}.` : ''}\n`,
  )
  return EXIT.ok
}

function completed() {
  return failure(
    'The move is complete, so there is no way back: a server may have written to the database since. Nothing was changed.',
  )
}
