/**
 * Makes records durable. The step of each record that makes it stand is one write of one document, its home: the decision,
 * the agent, the directory of policies or of keys. It carries the entry, and names its place in the log. Everything else is
 * done before, so that it comes to nothing without that step, or after, so that anybody can do it (finish-group.ts).
 */
import type { AuditEntry } from '@countersign/contract'
import type { StoredPolicy } from '@countersign/store-port/documents'
import { type CommitResult, type Conflict, type Mutation, StoreUnavailableError } from '@countersign/store-port/store'
import type { MongoLedger } from '../budgets/ledger.js'
import type { Settling } from '../budgets/settlements.js'
import { keepRevisions } from '../collections/agents.js'
import { copyToLog, voidEntry, writeEntries } from '../collections/audit.js'
import { finishPolicyRecord, keepPolicyRevision } from '../collections/policies.js'
import { allDone } from '../connection/all-done.js'
import type { Claim, Intent } from '../stored.js'
import { claimAnew, isTaken, releaseNames, takeNames } from './claims.js'
import type { Followers } from './finish-group.js'
import { type Homes, readHomes } from './homes.js'
import type { Log } from './log.js'
import { type Step, stepOf } from './step.js'
import type { WriteDeps } from './write-decisions.js'
import { writeHomes } from './write-homes.js'

export interface CommitDeps extends Followers, WriteDeps {
  readonly log: Log
}

const LARGEST_SEGMENT = 256
/** So often others may be faster with the names of calls of a group. */
const MOST_TRIES = 20

export async function commitMutations(deps: CommitDeps, records: readonly Mutation[]): Promise<CommitResult> {
  const refused = new Map<number, Conflict>()
  const unsettled = new Set<number>()
  let written = 0
  let conflict: Conflict | null = null
  while (written < records.length && conflict === null) {
    const segment = await new Segment(deps, takeSegment(deps.ledger, records, written)).write()
    for (const [i, reason] of segment.refused) refused.set(written + i, reason)
    for (const i of segment.unsettled) unsettled.add(written + i)
    written += segment.written
    conflict = segment.conflict
  }
  return {
    written,
    conflict,
    ...(refused.size > 0 && { lateConflicts: refused }),
    ...(unsettled.size > 0 && { unsettled }),
  }
}

/** Records that follow one another of which none builds on another: they can be written at once. */
function takeSegment(ledger: MongoLedger, records: readonly Mutation[], from: number): readonly Step[] {
  const steps: Step[] = []
  const touched = new Set<string>()
  for (const record of records.slice(from, from + LARGEST_SEGMENT)) {
    const step = stepOf(ledger, record)
    const touches = [
      ...(step.home.kind === 'none' ? [] : [`${step.home.kind} ${step.home.id}`]),
      ...(step.claim === null ? [] : [`claim ${step.claim._id}`, `subject ${step.claim.subject}`]),
    ]
    // A claim counts while its decision is open, so it follows what the records before made of that.
    if (touches.some((one) => touched.has(one) || touched.has(one.replace(/^decision/, 'subject')))) break
    for (const one of touches) touched.add(one)
    if (step.home.kind === 'decision') touched.add(`subject ${step.home.id}`)
    steps.push(step)
  }
  return steps.length > 0 ? steps : [stepOf(ledger, records[from] as Mutation)]
}

interface Written {
  readonly written: number
  readonly conflict: Conflict | null
  readonly refused: ReadonlyMap<number, Conflict>
  readonly unsettled: readonly number[]
}

class Segment {
  readonly #deps: CommitDeps
  #steps: readonly Step[]
  readonly #refused = new Map<Step, Conflict>()
  /** Of those that stand, the ones whose accounts are too busy to follow. */
  readonly #unsettled = new Set<Step>()
  /** With what the accounts of a decision have to follow. */
  readonly #standing = new Map<Step, Settling | null>()
  #conflict: Conflict | null = null

  constructor(deps: CommitDeps, steps: readonly Step[]) {
    this.#deps = deps
    this.#steps = steps
  }

  async write(): Promise<Written> {
    const first = this.#deps.log.nextIndex
    let homes = await this.#prepare(first)
    let open = this.#steps
    this.#mayStand(open, true)
    while (open.length > 0) {
      open = this.#dropOutdated(open)
      if (open.length === 0) break
      const { standing, tooLarge } = await writeHomes(this.#deps, open, homes)
      for (const [step, settling] of standing) this.#standing.set(step, settling)
      for (const step of tooLarge) this.#refused.set(step, 'too_large')
      open = open.filter((step) => !standing.has(step) && !tooLarge.has(step))
      if (open.length === 0) break
      // Somebody else was faster with some: those whose conditions hold all the same are tried again, by what is there now.
      homes = await this.#look(open)
      open = this.#refuse(open, homes)
      if (open.length > 0 && !(await this.#announce()))
        throw new StoreUnavailableError('Another process took the audit log.')
    }
    this.#mayStand([...this.#refused.keys()], false)
    await this.#follow()
    this.#deps.log.advance(this.#steps.filter(({ place }) => place !== null).length)
    return {
      written: this.#steps.length,
      conflict: this.#conflict,
      refused: new Map([...this.#refused].map(([step, conflict]) => [this.#steps.indexOf(step), conflict])),
      unsettled: [...this.#unsettled].map((step) => this.#steps.indexOf(step)),
    }
  }

  /** Looks whether the records may be written, as far as the first that may not, and takes what they need. */
  async #prepare(first: number): Promise<Homes> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const homes = await this.#look(this.#steps)
      await this.#cut(first, homes)
      if (this.#steps.length === 0) return homes
      if (!(await this.#announce())) {
        this.#steps = []
        this.#conflict = 'log_index'
        return homes
      }
      if (await this.#claim()) return homes
    }
    throw new StoreUnavailableError('The names of calls change hands without end.')
  }

  /** Homes are read before the group is announced: a fence that is set after that is not overlooked. */
  async #look(steps: readonly Step[]): Promise<Homes> {
    const { database, log } = this.#deps
    const homes = await readHomes(database, steps)
    // What these documents were last written for has to be in the log before they are written again.
    const last = homes.all().map((home) => home.last)
    await allDone([
      copyToLog(
        database,
        last.filter((record) => record !== null && !log.isCopied(record)),
      ),
      homes.policies === null ? null : finishPolicyRecord(database, homes.policies),
    ])
    return homes
  }

  /** Keeps the records before the first that meets a conflict. */
  async #cut(first: number, homes: Homes): Promise<void> {
    const { database, log } = this.#deps
    const taken = await isTaken(
      database,
      this.#steps.flatMap(({ claim }) => claim ?? []),
    )
    let index = first
    for (const [i, step] of this.#steps.entries()) {
      const isMisplaced = step.place !== null && (step.place.index !== index || step.place.log !== log.name)
      const conflict = isMisplaced
        ? 'log_index'
        : step.claim !== null && taken.has(step.claim._id)
          ? 'idempotency_key'
          : homes.conflictOf(step, this.#deps.ledger)
      if (conflict !== null) {
        this.#steps = this.#steps.slice(0, i)
        this.#conflict = conflict
        return
      }
      if (step.place !== null) index += 1
    }
  }

  #announce(): Promise<boolean> {
    const group = this.#intents()
    return group.length === 0 ? Promise.resolve(true) : this.#deps.log.announce(group)
  }

  #intents(): readonly Intent[] {
    return this.#steps.flatMap(({ place, home, claim, record }) =>
      place === null ? [] : [{ ...place, at: (record.entry as AuditEntry).at, home, claim: claim?._id ?? null }],
    )
  }

  /** Takes the names of the calls. False when another process was faster with one. */
  async #claim(): Promise<boolean> {
    const { database } = this.#deps
    const claims = claimsOf(this.#steps)
    if (claims.length === 0) return true
    if (await takeNames(database, claims)) return true
    await releaseNames(database, claims)
    this.#steps = this.#steps.map((step) => ({ ...step, claim: step.claim && claimAnew(step.claim) }))
    return false
  }

  /** Those of the records that may still be written: this process may have been frozen since they were made. */
  #dropOutdated(open: readonly Step[]): readonly Step[] {
    return open.filter((step) => {
      const holds = step.record.holds?.() ?? true
      if (!holds) this.#refused.set(step, 'outdated')
      return holds
    })
  }

  /** Those of the records that did not stand whose conditions still hold. */
  #refuse(open: readonly Step[], homes: Homes): readonly Step[] {
    return open.filter((step) => {
      const conflict =
        step.home.kind === 'none'
          ? step.place === null
            ? 'idempotency_key'
            : 'log_index'
          : homes.conflictOf(step, this.#deps.ledger)
      if (conflict !== null) this.#refused.set(step, conflict)
      return conflict === null
    })
  }

  #mayStand(steps: readonly Step[], isSent: boolean): void {
    for (const { record } of steps) {
      const reservation = 'reservation' in record.change ? this.#deps.ledger.find(record.change.reservation) : null
      if (reservation !== null) reservation.isSent = isSent
    }
  }

  /** What follows from the records that stand, and fills the places of the others. */
  async #follow(): Promise<void> {
    const { database, lastSeen } = this.#deps
    const standing = [...this.#standing.keys()]
    const entries = this.#steps.flatMap((step) => {
      const { record, place } = step
      if (place === null || record.entry === null) return []
      return [this.#refused.has(step) ? voidEntry({ ...place, at: record.entry.at }) : record.entry]
    })
    await allDone([
      writeEntries(database, entries),
      releaseNames(database, claimsOf([...this.#refused.keys()])),
      lastSeen.mark(
        standing.flatMap(({ record: { change } }) =>
          change.kind === 'decision.create'
            ? [{ agent_id: change.decision.agent_id, at: change.decision.evaluated_at }]
            : [],
        ),
      ),
      keepRevisions(
        database,
        standing.flatMap(({ record: { change } }) =>
          change.kind === 'agent.write' ? [JSON.stringify(change.agent)] : [],
        ),
      ),
      ...standing.map(({ record: { change } }) =>
        change.kind === 'policy.write' ? keepPolicyRevision(database, { written: textOf(change.policy) }) : null,
      ),
      this.#settle(),
      this.#deps.log.settle(),
    ])
  }

  async #settle(): Promise<void> {
    const { ledger, settlements } = this.#deps
    const written = [...this.#standing.values()].filter((settling) => settling !== null)
    for (const { attempt } of written) if (attempt !== null) ledger.forget(attempt)
    const busy = await settlements.settle(written)
    for (const [step, settling] of this.#standing)
      if (settling !== null && busy.has(settling)) this.#unsettled.add(step)
  }
}

/** Of records that are more than their claims. */
function claimsOf(steps: readonly Step[]): readonly Claim[] {
  return steps.flatMap(({ claim, place }) => (claim === null || place === null ? [] : [claim]))
}

function textOf(policy: StoredPolicy): string {
  return JSON.stringify(policy)
}
