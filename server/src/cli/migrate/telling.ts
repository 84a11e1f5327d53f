import { MOVED_KINDS, type MovedKind } from '../../ports/store/move.js'

/** Between two lines about one kind. */
const EVERY_MS = 2_000

export function nameOfKind(kind: MovedKind): string {
  return kind.replaceAll('_', ' ')
}

/** `3 policies, 200 decisions, …`, without the kinds of which there is none. */
export function summary(counts: ReadonlyMap<MovedKind, number>): string {
  const present = MOVED_KINDS.filter((kind) => (counts.get(kind) ?? 0) > 0)
  return present.map((kind) => `${counts.get(kind)} ${nameOfKind(kind)}`).join(', ')
}

/** Tells on standard error how far a move is, a line at a time. */
export class Telling {
  /** @param goesOn whether some records of the kind were done by an earlier run */
  of(done: string, kind: MovedKind, total: number, goesOn = false) {
    const tell = (count: number) => {
      const share = goesOn ? `${count} more of ${total}` : `${count} of ${total}`
      process.stderr.write(`${done} ${share} ${nameOfKind(kind)}\n`)
    }
    let count = 0
    let nextMs = performance.now() + EVERY_MS
    return {
      add(more: number): void {
        count += more
        if (performance.now() < nextMs) return
        nextMs = performance.now() + EVERY_MS
        tell(count)
      },
      end(): void {
        if (total > 0) tell(count)
      },
    }
  }
}
