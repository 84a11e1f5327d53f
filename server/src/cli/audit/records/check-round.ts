/** Compares all records with the whole log once. */
import { setTimeout as pause } from 'node:timers/promises'
import {
  AccountRanges,
  type AccountRecord,
  type BoundKind,
  checkRecord,
  checkRemoved,
  damageOf,
  type Form,
  formOf,
  inOrderOfChanges,
  isAhead,
  parseExportLine,
  type RecordCheck,
  type RecordDifference,
  recordKindOf,
  withLiveRevision,
} from '@countersign/audit-log'
import type { AuditEntry, JsonObject } from '@countersign/contract'
import { type VerifyLinesOptions, verifyLines } from '../verify-lines.js'
import { Partitions } from './partitions.js'
import type { LogSizes, RecordSource } from './record-source.js'
import { Removals } from './removals.js'

/** Known facts about one record: its content, or an entry about it. */
type Line =
  | { readonly kind: BoundKind; readonly id: string; readonly form: Form | null }
  | { readonly kind: BoundKind; readonly id: string; readonly entry: AuditEntry }

export interface RoundResult {
  readonly verified: Awaited<ReturnType<typeof verifyLines>>
  readonly compared: Readonly<Record<BoundKind | 'account', number>>
  readonly differences: readonly RecordDifference[]
  readonly differenceCount: number
  /** The number of records with a member that no entry binds, by kind and member. */
  readonly unbound: ReadonlyMap<string, number>
  /** Accounts that cannot be computed, because an older release wrote entries of decisions in their period. */
  readonly notAddedUp: readonly string[]
  /** The number of decisions that retention may have removed. */
  readonly removed: number
  /** The number of records that were written after the comparison began. */
  readonly later: number
  /** Whether an account differs that may have changed in between: a second comparison decides. */
  readonly isDoubtful: boolean
  /** Entries that no checkpoint covers. */
  readonly uncovered: number
}

/** At most this many are named; the others are counted. */
const NAMED_DIFFERENCES = 1_000
const LISTED = ['decision', 'agent', 'key', 'webhook'] as const
/**
 * How many differing records are read again at most: honest changes make a few differ, an attacker could make many. For
 * the rest the first comparison counts, which may report too much, but never too little.
 */
const MOST_REREAD = 1_000
/** How often, in total, the entry of a record is waited for: on MongoDB it is written after its record. */
const PAUSES = 25
const PAUSE_MS = 200

/**
 * @throws TamperedError, IncompleteError of the log itself: then no record was compared
 */
export async function checkRound(source: RecordSource, options: VerifyLinesOptions): Promise<RoundResult> {
  const partitions = await Partitions.create<Line>()
  try {
    return await new Round(source, options, partitions).run()
  } finally {
    await partitions.remove()
  }
}

class Round {
  readonly #removals = new Removals()
  readonly #ranges = new AccountRanges()
  readonly #accounts = new Map<string, AccountRecord>()
  readonly #livePolicies = new Map<string, number>()
  /** Names of rows that no decision uses, which are reported themselves. */
  readonly #damaged = new Set<string>()
  readonly #differences: RecordDifference[] = []
  readonly #unbound = new Map<string, number>()
  readonly #notAddedUp = new Set<string>()
  readonly #compared = { decision: 0, policy: 0, agent: 0, key: 0, webhook: 0, account: 0 }
  #differenceCount = 0
  #removed = 0
  #later = 0
  #isDoubtful = false
  #uncovered = 0
  #sizes: LogSizes = new Map()
  /** The sizes that the verified lines of the export prove. */
  #proved: LogSizes = new Map()
  #rereadsLeft = MOST_REREAD
  #pausesLeft = PAUSES

  constructor(
    private readonly source: RecordSource,
    private readonly options: VerifyLinesOptions,
    private readonly partitions: Partitions<Line>,
  ) {}

  async run(): Promise<RoundResult> {
    this.#sizes = await this.source.sizes()
    await this.#readRecords()
    const verified = await this.#readLog()
    for await (const lines of this.partitions.parts()) await this.#compare(lines)
    this.#compareAccounts(verified.budgets.canAddUp.bind(verified.budgets))
    return {
      verified,
      compared: this.#compared,
      differences: this.#differences.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)),
      differenceCount: this.#differenceCount,
      unbound: this.#unbound,
      notAddedUp: [...this.#notAddedUp],
      removed: this.#removed,
      later: this.#later,
      isDoubtful: this.#isDoubtful,
      uncovered: this.#uncovered,
    }
  }

  async #readRecords(): Promise<void> {
    for (const kind of LISTED)
      for await (const { id, record } of this.source.records(kind))
        if (!this.#isDamaged(kind, id, record)) await this.#add({ kind, id, form: formOf(kind, [record], null) })
    for await (const { id, record } of this.source.records('policy'))
      if (!this.#isDamaged('policy', id, record)) this.#livePolicies.set(id, record.version as number)
    for (const id of this.#livePolicies.keys())
      await this.#add({ kind: 'policy', id, form: await this.#formOf('policy', id) })
    for await (const { id, record } of this.source.records('account'))
      this.#accounts.set(id, record as unknown as AccountRecord)
  }

  /** Whether the row is not used. That is a difference, whatever the log says about its record. */
  #isDamaged(kind: BoundKind, id: string, record: JsonObject): boolean {
    const damage = damageOf(record)
    if (damage === null) return false
    const row = `${kind} ${id}${kind === 'policy' ? ` ${damage.member} ${damage.stored}` : ''}`
    if (this.#damaged.has(row)) return true
    this.#damaged.add(row)
    this.#found({
      kind,
      id,
      member: damage.member,
      logged: null,
      stored: damage.stored,
      entry: null,
      later_entry: null,
    })
    return true
  }

  async #readLog(): Promise<RoundResult['verified']> {
    const lines = await this.source.exportLines()
    const verified = await verifyLines(lines, this.options, async (line) => {
      const parsed = parseExportLine(line)
      if (parsed.kind === 'entry') await this.#addEntry(parsed.entry)
    })
    this.#proved = verified.logs
    for await (const entry of this.source.uncovered(verified.logs)) {
      this.#uncovered += 1
      await this.#addEntry(entry)
    }
    return verified
  }

  async #addEntry(entry: AuditEntry): Promise<void> {
    this.#removals.add(entry)
    const kind = recordKindOf(entry)
    if (kind !== null) await this.#add({ kind, id: entry.subject, entry })
  }

  #add(line: Line): Promise<void> {
    return this.partitions.add(`${line.kind} ${line.id}`, line)
  }

  async #compare(lines: readonly Line[]): Promise<void> {
    for (const of of byRecord(lines)) {
      const { kind, id } = of[0] as Line
      const entries = inOrderOfChanges(of.flatMap((line) => ('entry' in line ? [line.entry] : [])))
      const form = of.map((line) => ('form' in line ? line.form : null)).find((one) => one !== null) ?? null
      if (kind === 'decision') this.#ranges.add(entries, this.#isLater)
      await this.#compareOne(kind, id, entries, form)
    }
  }

  async #compareOne(kind: BoundKind, id: string, entries: readonly AuditEntry[], listed: Form | null): Promise<void> {
    if (kind !== 'policy' && this.#damaged.has(`${kind} ${id}`)) return
    if (listed === null && entries.every(this.#isLater)) {
      this.#later += 1
      return
    }
    if (listed === null && kind === 'decision' && this.#removals.mayHave(entries)) {
      this.#removed += 1
      for (const difference of checkRemoved(id, entries)) this.#found(difference)
      return
    }
    const form = listed ?? (await this.#formOf(kind, id))
    if (form === null && kind === 'decision' && this.#removals.mayHaveUnsaid(entries))
      return this.#countUnbound(kind, 'whole record')
    this.#compared[kind] += 1
    const first = this.#check(kind, id, entries, form, this.#isLater)
    const { differences, unbound } =
      first.differences.length > 0 && this.source.isLive ? await this.#checkAgain(kind, id, entries, first) : first
    for (const member of unbound) this.#countUnbound(kind, member)
    for (const difference of differences) this.#found(difference)
  }

  #check(
    kind: BoundKind,
    id: string,
    entries: readonly AuditEntry[],
    form: Form | null,
    isLater: (entry: AuditEntry) => boolean,
  ): RecordCheck {
    const stored = kind === 'policy' && form !== null ? withLiveRevision(form, entries, this.#isLater) : form
    return checkRecord({ kind, id }, entries, stored, isLater)
  }

  /** Reads a differing record again, and then its entries, until they cover all its changes. */
  async #checkAgain(
    kind: BoundKind,
    id: string,
    entries: readonly AuditEntry[],
    first: RecordCheck,
  ): Promise<RecordCheck> {
    if (this.#rereadsLeft === 0) return first
    this.#rereadsLeft -= 1
    const proved = entries.filter((entry) => !this.#isUnproved(entry))
    for (let before = entries; ; ) {
      // The record that is read now includes the changes of all entries that were read before it.
      const known = new Set(before.map((entry) => entry.id))
      const form = await this.#formOf(kind, id)
      const all = inOrderOfChanges([...proved, ...(await this.#unprovedOf(kind, id))])
      const check = this.#check(kind, id, all, form, (entry) => !known.has(entry.id))
      const isWaitedFor = check.differences.length > 0 && form !== null && isAhead(kind, all, form)
      if (!isWaitedFor || this.#pausesLeft === 0) return check
      this.#pausesLeft -= 1
      await pause(PAUSE_MS)
      before = all
    }
  }

  async #unprovedOf(kind: BoundKind, id: string): Promise<readonly AuditEntry[]> {
    const found: AuditEntry[] = []
    for await (const entry of this.source.entriesOf(id))
      if (recordKindOf(entry) === kind && this.#isUnproved(entry)) found.push(entry)
    return found
  }

  async #formOf(kind: BoundKind, id: string): Promise<Form | null> {
    const records: JsonObject[] = []
    for await (const { id: row, record } of this.source.recordsOf(kind, id)) {
      records.push(record)
      // For a policy, only the present revision was checked before.
      if (kind === 'policy') this.#isDamaged(kind, row, record)
    }
    return formOf(kind, records, this.#livePolicies.get(id) ?? null)
  }

  #compareAccounts(canAddUp: (account: Pick<AccountRecord, 'starts_at'>) => boolean): void {
    this.#compared.account = this.#accounts.size
    for (const { account, difference } of this.#ranges.differences(this.#accounts)) {
      if (!canAddUp(account)) this.#notAddedUp.add(difference.id)
      else {
        this.#found(difference)
        this.#isDoubtful ||= this.source.isLive
      }
    }
  }

  #found(difference: RecordDifference): void {
    this.#differenceCount += 1
    if (this.#differences.length < NAMED_DIFFERENCES) this.#differences.push(difference)
  }

  #countUnbound(kind: BoundKind, member: string): void {
    const name = `${kind}: ${member.replace(/\.\d+/g, '')}`
    this.#unbound.set(name, (this.#unbound.get(name) ?? 0) + 1)
  }

  readonly #isLater = ({ log, index }: AuditEntry): boolean => index >= (this.#sizes.get(log) ?? 0)
  readonly #isUnproved = ({ log, index }: AuditEntry): boolean => index >= (this.#proved.get(log) ?? 0)
}

/** The order of the parts is of no use to a person. */
function nameOf({ kind, id, member }: RecordDifference): string {
  return `${kind} ${id} ${member ?? ''}`
}

function byRecord(lines: readonly Line[]): Iterable<readonly Line[]> {
  const records = new Map<string, Line[]>()
  for (const line of lines) {
    const name = `${line.kind} ${line.id}`
    const known = records.get(name)
    if (known === undefined) records.set(name, [line])
    else known.push(line)
  }
  return records.values()
}
