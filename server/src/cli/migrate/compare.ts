import { isDeepStrictEqual } from 'node:util'
import { MOVED_KINDS, type MovedKind } from '../../ports/store/move.js'
import { failure } from '../exit.js'
import { type Copying, forEachPage } from './copy.js'
import { nameOfKind } from './telling.js'

/**
 * Compares every record of the target with that of the source: entries, decisions, balances, checkpoints and the rest. Then
 * the number of records of each kind, and the ends of the logs.
 *
 * @throws CommandError naming the first difference
 */
export async function compareAll(copying: Copying): Promise<ReadonlyMap<MovedKind, number>> {
  const counts = new Map<MovedKind, number>()
  for (const kind of MOVED_KINDS) counts.set(kind, await compareKind(copying, kind))
  const { source, onTarget } = copying
  const [ends, found] = [await source.audit.listLogs(), await onTarget((target) => target.listLogs())]
  if (!isDeepStrictEqual(ends, found))
    throw differs(`the logs end at ${JSON.stringify(ends)}, and there at ${JSON.stringify(found)}`)
  return counts
}

async function compareKind({ source, onTarget, telling }: Copying, kind: MovedKind): Promise<number> {
  const total = await source.move.count(kind)
  const told = telling.of('compared', kind, total)
  let compared = 0
  await forEachPage(source, kind, null, async (items) => {
    const found = await onTarget((target) => target.find(kind, items))
    for (const [i, item] of items.entries()) {
      if (isDeepStrictEqual(item, found[i])) continue
      throw differs(
        `${found[i] === null ? 'missing is' : 'different is'} one of its ${nameOfKind(kind)}: ${shortOf(item)}`,
      )
    }
    compared += items.length
    told.add(items.length)
  })
  told.end()
  const there = await onTarget((target) => target.count(kind))
  if (compared !== there) throw differs(`it has ${there} ${nameOfKind(kind)}, and DATA_DIR has ${compared}`)
  return compared
}

/** The record may hold a secret or a request, so only what names it is shown. */
function shortOf(record: object): string {
  const { id, decision, name, agent, account, policy } = record as Readonly<Record<string, unknown>>
  const named = id ?? (decision as { id?: unknown })?.id ?? (agent as { id?: unknown })?.id ?? name
  return JSON.stringify(named ?? account ?? (policy as { id?: unknown })?.id ?? '(without a name)')
}

function differs(what: string) {
  return failure(
    `The database differs from DATA_DIR: ${what}. Nothing serves it. Run countersign migrate --undo, drop the database, and begin again.`,
  )
}
