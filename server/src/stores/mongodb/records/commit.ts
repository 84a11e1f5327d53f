/**
 * Makes records durable. One write of one document commits a record: its primary, which is the decision, the agent, or
 * the directory of policies or of keys. That write contains the audit entry with its log position. Everything before it
 * has no effect without it. Everything after it can be done by any process (finish-group.ts).
 */
import type { AuditEntry } from '@countersign/contract'
import { StoreUnavailableError } from '../../../ports/store/errors.js'
import type { CommitResult, Conflict, Mutation } from '../../../ports/store/store.js'
import type { MongoLedger } from '../budgets/ledger.js'
import type { Settling } from '../budgets/settlements.js'
import { keepRevisions } from '../collections/agents.js'
import { copyToLog, voidEntry, writeEntries } from '../collections/audit.js'
import { finishPolicyRecord, keepPolicyRevision } from '../collections/policies.js'
import { allDone } from '../connection/all-done.js'
import type { Claim, Intent } from '../stored.js'
import { claimAnew, isTaken, releaseNames, takeNames } from './claims.js'
import { finishErasures } from './erasures.js'
import type { Followers } from './finish-group.js'
import type { Log } from './log.js'
import { type Primaries, readPrimaries } from './primaries.js'
import { type Step, stepOf } from './step.js'
import type { WriteDeps } from './write-decisions.js'
import { writePrimaries } from './write-primaries.js'

export interface CommitDeps extends Followers, WriteDeps {
  readonly log: Log
}

const LARGEST_SEGMENT = 256
/** How often other processes may be first to take the names of a group's calls. */
const MOST_TRIES = 20

export async function commitMutations(deps: CommitDeps, records: readonly Mutation[]): Promise<CommitResult> {
  const lateConflicts = new Map<number, Conflict>()
  const unsettled = new Set<number>()
  const repeated = new Set<number>()
  let written = 0
  let conflict: Conflict | null = null
  while (written < records.length && conflict === null) {
    const segment = await new Segment(deps, takeSegment(deps.ledger, records, written)).write()
    for (const [i, reason] of segment.lateConflicts) lateConflicts.set(written + i, reason)
    for (const i of segment.unsettled) unsettled.add(written + i)
    for (const i of segment.repeated) repeated.add(written + i)
    written += segment.written
    conflict = segment.conflict
  }
  return {
    written,
    conflict,
    ...(lateConflicts.size > 0 && { lateConflicts }),
    ...(unsettled.size > 0 && { unsettled }),
    ...(repeated.size > 0 && { repeated }),
  }
}

/** Takes consecutive records that do not depend on each other, so that they can be written at once. */
function takeSegment(ledger: MongoLedger, records: readonly Mutation[], from: number): readonly Step[] {
  const steps: Step[] = []
  const touched = new Set<string>()
  for (const record of records.slice(from, from + LARGEST_SEGMENT)) {
    const step = stepOf(ledger, record)
    const touches = [
      ...(step.primary.kind === 'none' ? [] : [`${step.primary.kind} ${step.primary.id}`]),
      ...(step.claim === null ? [] : [`claim ${step.claim._id}`, `subject ${step.claim.subject}`]),
    ]
    // A claim is valid while its decision is open, so it depends on the earlier records of that decision.
    if (touches.some((one) => touched.has(one) || touched.has(one.replace(/^decision/, 'subject')))) break
    for (const one of touches) touched.add(one)
    if (step.primary.kind === 'decision') touched.add(`subject ${step.primary.id}`)
    steps.push(step)
  }
  return steps.length > 0 ? steps : [stepOf(ledger, records[from] as Mutation)]
}

interface Written {
  readonly written: number
  readonly conflict: Conflict | null
  readonly lateConflicts: ReadonlyMap<number, Conflict>
  readonly unsettled: readonly number[]
  readonly repeated: readonly number[]
}

class Segment {
  readonly #lateConflicts = new Map<Step, Conflict>()
  /** Committed steps whose accounts are too busy to follow. */
  readonly #unsettled = new Set<Step>()
  /** Each with the amounts that the accounts of its decision must follow. */
  readonly #committed = new Map<Step, Settling | null>()
  #conflict: Conflict | null = null
  /** The numbers of the steps after the one in conflict whose calls already have a record. */
  #repeated: readonly number[] = []

  constructor(
    private readonly deps: CommitDeps,
    private steps: readonly Step[],
  ) {}

  async write(): Promise<Written> {
    const first = this.deps.log.nextIndex
    let primaries = await this.#prepare(first)
    let open = this.steps
    this.#mayCommit(open, true)
    while (open.length > 0) {
      open = this.#dropOutdated(open)
      if (open.length === 0) break
      const { committed, tooLarge } = await writePrimaries(this.deps, open, primaries)
      for (const [step, settling] of committed) this.#committed.set(step, settling)
      for (const step of tooLarge) this.#lateConflicts.set(step, 'too_large')
      open = open.filter((step) => !committed.has(step) && !tooLarge.has(step))
      if (open.length === 0) break
      // Another process wrote some of them first: those whose conditions still hold are retried on the present state.
      primaries = await this.#look(open)
      open = this.#keepCommittable(open, primaries)
      if (open.length > 0 && !(await this.#writeIntents()))
        throw new StoreUnavailableError('Another process has taken over the audit log.')
    }
    const unwritten = [...this.#lateConflicts.keys()]
    this.#mayCommit(unwritten, false)
    await this.#forgetOnly()
    await this.#follow(unwritten)
    this.deps.log.advance(this.steps.filter(({ position }) => position !== null).length)
    return {
      written: this.steps.length,
      conflict: this.#conflict,
      lateConflicts: new Map([...this.#lateConflicts].map(([step, conflict]) => [this.steps.indexOf(step), conflict])),
      unsettled: [...this.#unsettled].map((step) => this.steps.indexOf(step)),
      repeated: this.#repeated,
    }
  }

  /**
   * Checks whether the records may be written, up to the first that may not, and takes what they need. For a new
   * decision the insert of its claim replaces that check, and so does its own insert when nothing else is written with
   * it.
   */
  async #prepare(first: number): Promise<Primaries> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const isFirst = tries === 0
      const primaries = await this.#look(isFirst && this.#isOnlyCreate() ? [] : this.steps)
      await this.#cut(first, primaries, isFirst ? this.steps.filter((step) => !isCreate(step)) : this.steps)
      if (this.steps.length === 0) {
        if (!isFirst) await this.deps.log.writeIntents([])
        return primaries
      }
      if (!(await this.#writeIntents())) {
        this.steps = []
        this.#conflict = 'log_index'
        return primaries
      }
      if (await this.#claim()) return primaries
    }
    throw new StoreUnavailableError('Other processes keep changing these idempotency keys.')
  }

  /** Reads the primaries before the intents are written, so that no later fence is missed. */
  async #look(steps: readonly Step[]): Promise<Primaries> {
    const { database, log } = this.deps
    const primaries = await readPrimaries(database, steps)
    // The last record of these documents must be in the log before they are written again.
    const last = primaries.all().map((primary) => primary.last)
    await allDone([
      copyToLog(
        database,
        last.filter((record) => record !== null && !log.isCopied(record)),
      ),
      primaries.policies === null ? null : finishPolicyRecord(database, primaries.policies),
    ])
    return primaries
  }

  /** Keeps the records before the first that meets a conflict. */
  async #cut(first: number, primaries: Primaries, looked: readonly Step[]): Promise<void> {
    const { database, log } = this.deps
    const taken = await isTaken(
      database,
      looked.flatMap(({ claim }) => claim ?? []),
    )
    let index = first
    for (const [i, step] of this.steps.entries()) {
      const isOutOfOrder = step.position !== null && (step.position.index !== index || step.position.log !== log.name)
      const conflict = isOutOfOrder
        ? 'log_index'
        : step.claim !== null && taken.has(step.claim._id)
          ? 'idempotency_key'
          : primaries.conflictOf(step, this.deps.ledger)
      if (conflict !== null) {
        const isRepeated = ({ claim }: Step) => claim !== null && taken.has(claim._id)
        this.#repeated = this.steps.flatMap((one, at) => (at > i && isRepeated(one) ? [at] : []))
        this.steps = this.steps.slice(0, i)
        this.#conflict = conflict
        return
      }
      if (step.position !== null) index += 1
    }
  }

  #writeIntents(): Promise<boolean> {
    const group = this.#intents()
    return group.length === 0 ? Promise.resolve(true) : this.deps.log.writeIntents(group)
  }

  #intents(): readonly Intent[] {
    return this.steps.flatMap(({ position, primary, claim, record }) =>
      position === null
        ? []
        : [{ ...position, at: (record.entry as AuditEntry).at, home: primary, claim: claim?._id ?? null }],
    )
  }

  /** Takes the names of the calls. False when another process took one first. */
  async #claim(): Promise<boolean> {
    const { database } = this.deps
    const claims = claimsOf(this.steps)
    if (claims.length === 0) return true
    if (await takeNames(database, claims)) return true
    await releaseNames(database, claims)
    this.steps = this.steps.map((step) => ({ ...step, claim: step.claim && claimAnew(step.claim) }))
    return false
  }

  /** Keeps the records that may still be written: this process may have been frozen since they were created. */
  #dropOutdated(open: readonly Step[]): readonly Step[] {
    return open.filter((step) => {
      const holds = step.record.holds?.() ?? true
      if (!holds) this.#lateConflicts.set(step, 'outdated')
      return holds
    })
  }

  /** Keeps the uncommitted records whose conditions still hold. */
  #keepCommittable(open: readonly Step[], primaries: Primaries): readonly Step[] {
    return open.filter((step) => {
      const conflict =
        step.primary.kind === 'none'
          ? step.position === null
            ? 'idempotency_key'
            : 'log_index'
          : primaries.conflictOf(step, this.deps.ledger)
      if (conflict !== null) this.#lateConflicts.set(step, conflict)
      return conflict === null
    })
  }

  #isOnlyCreate(): boolean {
    return this.steps.length === 1 && this.steps.every(isCreate)
  }

  /** Nothing else was written with a decision whose id is taken: it leaves no trace, as if a check had found it. */
  async #forgetOnly(): Promise<void> {
    const conflict = this.#isOnlyCreate() ? this.#lateConflicts.get(this.steps[0] as Step) : undefined
    if (conflict !== 'version' && conflict !== 'voided') return
    this.steps = []
    this.#lateConflicts.clear()
    this.#conflict = conflict
    await this.deps.log.writeIntents([])
  }

  #mayCommit(steps: readonly Step[], isSent: boolean): void {
    for (const { record } of steps) {
      const reservation = 'reservation' in record.change ? this.deps.ledger.find(record.change.reservation) : null
      if (reservation !== null) reservation.isSent = isSent
    }
  }

  /** Does the work that follows committed records, and writes void entries for the others. */
  async #follow(unwritten: readonly Step[]): Promise<void> {
    const { database, lastSeen } = this.deps
    const committed = [...this.#committed.keys()]
    const entries = this.steps.flatMap((step) => {
      const { record, position } = step
      if (position === null || record.entry === null) return []
      return [this.#lateConflicts.has(step) ? voidEntry({ ...position, at: record.entry.at }) : record.entry]
    })
    await allDone([
      writeEntries(database, entries),
      releaseNames(database, claimsOf(unwritten)),
      lastSeen.mark(
        committed.flatMap(({ record: { change } }) =>
          change.kind === 'decision.create'
            ? [{ agent_id: change.decision.agent_id, at: change.decision.evaluated_at }]
            : [],
        ),
      ),
      keepRevisions(
        database,
        committed.flatMap(({ record: { change } }) =>
          change.kind === 'agent.write' ? [JSON.stringify(change.agent)] : [],
        ),
      ),
      ...committed.map(({ record: { change } }) =>
        change.kind === 'policy.write'
          ? keepPolicyRevision(database, { written: JSON.stringify(change.policy) })
          : null,
      ),
      finishErasures(
        database,
        committed.flatMap(({ record: { change } }) =>
          change.kind === 'decision.update' && change.erases_request ? [change.decision.id] : [],
        ),
      ),
      this.#settle(),
      this.deps.log.settle(),
    ])
  }

  async #settle(): Promise<void> {
    const { ledger, settlements } = this.deps
    const written = [...this.#committed.values()].filter((settling) => settling !== null)
    for (const { attempt } of written) if (attempt !== null) ledger.forget(attempt)
    const busy = await settlements.settle(written)
    for (const [step, settling] of this.#committed)
      if (settling !== null && busy.has(settling)) this.#unsettled.add(step)
  }
}

function isCreate({ record: { change } }: Step): boolean {
  return change.kind === 'decision.create'
}

/** The claims of records that consist of more than a claim. */
function claimsOf(steps: readonly Step[]): readonly Claim[] {
  return steps.flatMap(({ claim, position }) => (claim === null || position === null ? [] : [claim]))
}
