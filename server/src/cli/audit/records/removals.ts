import type { AuditEntry } from '@countersign/contract'

/** A statement of retention in the log: decisions from before these times may be gone. */
interface Removal {
  readonly evaluated_before: string
  readonly ended_before: string
}

/** The evaluation comes slightly before the entry, or more while the clock was wrong. */
const TOLERANCE_MS = 3_600_000
const CLOSED: ReadonlySet<unknown> = new Set(['denied', 'declined', 'confirmed', 'rejected', 'expired'])

/** The minimum of `RETENTION_DAYS`. */
const LEAST_RETENTION_MS = 31 * 86_400_000

/**
 * Decides which decisions the server may have removed: those that are old and closed, and that the log names by these
 * times.
 */
export class Removals {
  readonly #said: Removal[] = []
  /** When the first release that records removals made its first decision; otherwise the time of the newest entry. */
  #saidSince: string | null = null
  #newest = ''

  add({ type, data, at }: AuditEntry): void {
    if (type === 'decisions.removed') this.#said.push(data as unknown as Removal)
    if (isBound({ type, data }) && (this.#saidSince === null || at < this.#saidSince)) this.#saidSince = at
    if (at > this.#newest) this.#newest = at
  }

  /** @param entries of one decision, in the order of its changes */
  mayHave(entries: readonly AuditEntry[]): boolean {
    const [created] = entries
    if (created === undefined) return false
    const moved = entries.findLast(({ data }) => data.status !== undefined)?.data
    // Entries of older releases do not contain the result of the decision.
    if (moved === undefined && isBound(created)) return false
    if (moved !== undefined && !CLOSED.has(moved.status)) return false
    const evaluated = new Date(Date.parse(created.at) - TOLERANCE_MS).toISOString()
    return this.#said.some(
      ({ evaluated_before, ended_before }) =>
        evaluated < evaluated_before && (moved === undefined || String(moved.expires_at) < ended_before),
    )
  }

  /** Whether an older release may have removed a decision, which it did without an entry: one that was old before the upgrade. */
  mayHaveUnsaid([created]: readonly AuditEntry[]): boolean {
    if (created === undefined || isBound(created)) return false
    return Date.parse(created.at) - TOLERANCE_MS + LEAST_RETENTION_MS < Date.parse(this.#saidSince ?? this.#newest)
  }
}

function isBound({ type, data }: Pick<AuditEntry, 'type' | 'data'>): boolean {
  return type === 'decision.created' && data.details !== undefined
}
