import { randomUUID } from 'node:crypto'
import { systemClock } from '../../adapters/system-clock.js'
import { MOVED_KINDS, type MovedKind, type MoveNote, type MoveState } from '../../ports/store/move.js'
import { EXIT, failure } from '../exit.js'
import { compareAll } from './compare.js'
import { copyAll, forEachPage } from './copy.js'
import { type MoveSettings, moveSettings } from './settings.js'
import { assertComplete, openSource, type Source } from './source.js'
import { type OnTarget, withTarget } from './target.js'
import { summary, Telling } from './telling.js'
import { undo } from './undo.js'

export interface MigrateOptions {
  readonly to?: string
  readonly dryRun?: boolean
  readonly undo?: boolean
}

/** Moves all data of the embedded store to MongoDB, or continues a move that was interrupted. */
export async function migrate(options: MigrateOptions): Promise<number> {
  const settings = moveSettings(options.to)
  const source = await openSource(settings.dataDir)
  try {
    return await withTarget(settings, async (onTarget) => {
      const note = await source.move.findNote()
      if (options.undo) return undo(source, onTarget, note, settings)
      const state = await onTarget((target) => target.state())
      if (note !== null && state.kind === 'completed' && state.id === note.id)
        return completeSource(source, note, settings)
      assertUsable(note, state, settings)
      if (note === null) await assertComplete(source, settings.dataDir)
      return options.dryRun ? dryRun(source, settings) : move(source, onTarget, note, settings)
    })
  } finally {
    await source.close()
  }
}

/** @throws CommandError when the records cannot go there */
function assertUsable(note: MoveNote | null, state: MoveState, { dataDir, address }: MoveSettings): void {
  if (note !== null && note.completed_at !== null)
    throw failure(
      `The data in ${dataDir} were moved to MongoDB at ${note.to} on ${note.completed_at}. Nothing was changed.`,
    )
  if (note !== null && isUnderway(state, note)) return
  // The move may be complete where it began, and a server may use that database.
  if (note !== null && note.to !== address)
    throw failure(
      `The data in ${dataDir} are being moved to MongoDB at ${note.to}. Continue there, or run countersign migrate --undo ` +
        'with that database. Nothing was changed.',
    )
  if (state.kind === 'empty') return
  const why = {
    used: 'already holds data',
    underway: 'holds an unfinished move of other data',
    completed: 'holds the data of another move',
    undone: 'holds the data of a move that was undone',
  }[state.kind]
  throw failure(
    `MongoDB at ${address} ${why}. Name an empty database, or drop this one if its data are not needed. Nothing was changed.`,
  )
}

function isUnderway(state: MoveState, { id }: MoveNote): boolean {
  return state.kind === 'underway' && state.id === id
}

async function dryRun(source: Source, { dataDir, address }: MoveSettings): Promise<number> {
  const counts = new Map<MovedKind, number>()
  for (const kind of MOVED_KINDS)
    await forEachPage(source, kind, null, async (items) => {
      counts.set(kind, (counts.get(kind) ?? 0) + items.length)
    })
  process.stdout.write(
    `All records in ${dataDir} can be read: ${summary(counts)}. MongoDB at ${address} can take them. Nothing was moved.\n`,
  )
  return EXIT.ok
}

async function move(
  source: Source,
  onTarget: OnTarget,
  earlier: MoveNote | null,
  settings: MoveSettings,
): Promise<number> {
  const { address } = settings
  const note = { id: earlier?.id ?? randomUUID(), to: address, completed_at: null }
  // From now on no server changes the source.
  await source.move.note(note)
  const state = await onTarget((target) => target.begin(note.id))
  if (earlier === null && !isUnderway(state, note)) await source.move.note(null)
  assertUsable(note, state, settings)
  const copying = { source, onTarget, telling: new Telling() }
  const progress = state.kind === 'underway' ? state.progress : null
  if (earlier !== null) process.stderr.write('the move continues\n')
  await copyAll(copying, note.id, progress)
  const counts = await compareAll(copying)
  const end = await onTarget((target) => target.complete(note.id))
  if (end.kind !== 'completed' || end.id !== note.id)
    throw failure(`The move was undone meanwhile, so the data in MongoDB at ${address} are never served.`)
  process.stdout.write(`Moved and compared: ${summary(counts)}.\n`)
  return completeSource(source, note, settings)
}

/** The database is complete: only the note is missing if the command was interrupted before. */
async function completeSource(source: Source, note: MoveNote, { dataDir, address }: MoveSettings): Promise<number> {
  if (note.completed_at === null)
    await source.move.note({ ...note, to: address, completed_at: systemClock().now().toISOString() })
  process.stdout.write(
    `The data are in MongoDB at ${address}. Start the server with MONGODB_URL and the same DATA_DIR, ${dataDir}, which keeps ` +
      'the signing keys.\n',
  )
  return EXIT.ok
}
