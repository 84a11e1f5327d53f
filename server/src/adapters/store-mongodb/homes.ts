import type { AuditEntry } from '@countersign/contract'
import { msSince } from '../../moment.js'
import { type Change, type Conflict, StoreUnavailableError } from '../../ports/store.js'
import { unwrittenAgent } from './agents.js'
import { allDone } from './all-done.js'
import { auditDocumentOf, auditId, isPlace } from './audit.js'
import { takeNames } from './claims.js'
import type { CommitDeps, Step } from './commit.js'
import { type Database, isTooLarge } from './database.js'
import { hasRoomForKey, KEYS, keyEntryOf, keysOver, readKeyDirectory, readRetiredKeys, retireKeys } from './keys.js'
import type { MongoLedger, Reservation } from './ledger.js'
import { canStand, hasUnsettled, nextLines } from './ledger-lines.js'
import { hasRoomForPolicy, lastVersion, POLICIES } from './policies.js'
import type { Settling } from './settlements.js'
import type {
  AgentHome,
  AuditDocument,
  Claim,
  DecisionHome,
  Home,
  HomeName,
  KeyDirectory,
  LastRecord,
  LedgerLine,
  PolicyDirectory,
  RetiredKey,
} from './stored.js'

type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>

export function homeNameOf(change: Change, entry: AuditEntry | null): HomeName {
  switch (change.kind) {
    case 'decision.create':
    case 'decision.update':
      return { kind: 'decision', id: change.decision.id }
    case 'policy.write':
      return { kind: 'policies', id: POLICIES }
    case 'agent.write':
      return { kind: 'agent', id: change.agent.id }
    case 'key.write':
      return { kind: 'keys', id: KEYS }
    case 'entry.only':
    case 'call.only':
      return { kind: 'none', id: entry?.id ?? '' }
  }
}

/** The documents that records are about to write, as they were read. */
export class Homes {
  constructor(
    readonly decisions: ReadonlyMap<string, DecisionHome>,
    readonly agents: ReadonlyMap<string, AgentHome>,
    readonly policies: PolicyDirectory | null,
    readonly keys: KeyDirectory | null,
    /** The last version of policies that are not live. */
    private readonly goneVersions: ReadonlyMap<string, number>,
    /** Of those that are over, the ones that the records name. */
    private readonly retiredKeys: readonly RetiredKey[],
  ) {}

  all(): readonly Home[] {
    const directories = [this.policies, this.keys].filter((directory) => directory !== null)
    return [...this.decisions.values(), ...this.agents.values(), ...directories]
  }

  lastOf({ kind, id }: HomeName): LastRecord | null {
    switch (kind) {
      case 'decision':
        return this.decisions.get(id)?.last ?? null
      case 'agent':
        return this.agents.get(id)?.last ?? null
      case 'policies':
        return this.policies?.last ?? null
      case 'keys':
        return this.keys?.last ?? null
      case 'none':
        return null
    }
  }

  /** What keeps a record from being written here, its place and its claim apart. */
  conflictOf({ record: { change, entry } }: Step, ledger: MongoLedger): Conflict | null {
    switch (change.kind) {
      case 'decision.create': {
        const found = this.decisions.get(change.decision.id)
        if (found === undefined) return null
        return found.is_void ? 'voided' : 'version'
      }
      case 'decision.update':
        return this.#updateConflict(change, ledger)
      case 'policy.write':
        return this.#policyConflict(change)
      case 'agent.write':
        return (this.agents.get(change.agent.id)?.version ?? 0) === change.expected_version ? null : 'version'
      case 'key.write':
        return this.#keyConflict(change, (entry as AuditEntry).at)
      case 'entry.only':
      case 'call.only':
        return null
    }
  }

  #updateConflict({ decision, expected_version, reservation }: ChangeOf<'decision.update'>, ledger: MongoLedger) {
    const found = this.decisions.get(decision.id)
    if (found === undefined || found.is_void || found.version !== expected_version) return 'version'
    const held = ledger.find(reservation)
    // Its marks count only as long as nobody has raised the number that they were made upon.
    const isStale = held !== null && (held.rev !== found.rev || !canStand(found.ledger, held))
    return isStale ? 'version' : null
  }

  #policyConflict({ policy, expected_version }: ChangeOf<'policy.write'>): Conflict | null {
    const { live, policy_set } = this.policies as PolicyDirectory
    const version = live[policy.id]?.version ?? this.goneVersions.get(policy.id) ?? 0
    if (version !== expected_version || policy.policy_set !== policy_set + 1) return 'version'
    if (policy.deleted_at !== null) return null
    const others = Object.entries(live).filter(([id]) => id !== policy.id)
    if (others.some(([, { name }]) => name === policy.document.name)) return 'policy_name'
    return hasRoomForPolicy(live, policy) ? null : 'too_large'
  }

  #keyConflict({ key, expected_version, beside = [] }: ChangeOf<'key.write'>, at: string): Conflict | null {
    const directory = this.keys as KeyDirectory
    const retired = Object.fromEntries(this.retiredKeys.map(({ _id, ...entry }) => [_id, entry]))
    const keys = { ...retired, ...directory.keys }
    if ((keys[key.id]?.version ?? 0) !== expected_version) return 'version'
    if (beside.some(({ id, version }) => keys[id]?.version !== version)) return 'version'
    const taken = new Set(Object.entries(keys).flatMap(([id, { hashes }]) => (id === key.id ? [] : hashes)))
    if (key.secrets.some(({ hash }) => taken.has(hash))) return 'key_secret'
    return hasRoomForKey(directory, key, at) ? null : 'too_large'
  }
}

export async function readHomes(database: Database, steps: readonly Step[]): Promise<Homes> {
  const idsOf = (kind: HomeName['kind']) => steps.flatMap(({ home }) => (home.kind === kind ? [home.id] : []))
  const [decisionIds, agentIds] = [idsOf('decision'), idsOf('agent')]
  const keyChanges = steps.flatMap(({ record: { change } }) => (change.kind === 'key.write' ? [change] : []))
  const [decisions, agents, policies, keys] = await Promise.all([
    decisionIds.length === 0
      ? []
      : database.call(() =>
          database.decisions
            .find({ _id: { $in: decisionIds } })
            .project<DecisionHome>({ rev: 1, version: 1, last: 1, is_void: 1, ledger: 1, attempt: 1 })
            .toArray(),
        ),
    agentIds.length === 0 ? [] : database.call(() => database.agents.find({ _id: { $in: agentIds } }).toArray()),
    idsOf('policies').length === 0 ? null : database.call(() => database.policyDirectory.findOne({ _id: POLICIES })),
    idsOf('keys').length === 0 ? null : readKeyDirectory(database),
  ])
  const gone = steps.flatMap(({ record: { change } }) =>
    change.kind === 'policy.write' && policies?.live[change.policy.id] === undefined ? [change.policy.id] : [],
  )
  const versions = await Promise.all(gone.map(async (id) => [id, await lastVersion(database, id)] as const))
  const byId = <T extends Home>(homes: readonly T[]) => new Map(homes.map((home) => [home._id, home]))
  // After the directory: what leaves that is here by then.
  const retired = await readRetiredKeys(database, keyChanges)
  return new Homes(byId(decisions), byId(agents), policies, keys, new Map(versions), retired)
}

interface WrittenHomes {
  /** The records that stand, each with what its decision's accounts have to follow. */
  readonly standing: ReadonlyMap<Step, Settling | null>
  /** Those that can never be written. */
  readonly tooLarge: ReadonlySet<Step>
}

/** Writes the homes of records. */
export async function writeHomes(deps: CommitDeps, steps: readonly Step[], homes: Homes): Promise<WrittenHomes> {
  try {
    return { standing: await writeTogether(deps, steps, homes), tooLarge: new Set() }
  } catch (error) {
    if (!isTooLarge(error)) throw error
  }
  // Each by itself, so that the others do not fail with the one.
  const standing = new Map<Step, Settling | null>()
  const tooLarge = new Set<Step>()
  for (const step of steps)
    try {
      for (const [one, settling] of await writeTogether(deps, [step], homes)) standing.set(one, settling)
    } catch (error) {
      if (!isTooLarge(error)) throw error
      tooLarge.add(step)
    }
  return { standing, tooLarge }
}

async function writeTogether(
  deps: CommitDeps,
  steps: readonly Step[],
  homes: Homes,
): Promise<ReadonlyMap<Step, Settling | null>> {
  const standing = new Map<Step, Settling | null>()
  // Nothing of this group is on its way any more when the commit fails.
  await allDone([
    writeNewDecisions(deps, steps, standing),
    moveDecisions(deps, steps, homes, standing),
    ...steps.map(async (step) => {
      if (await writeOther(deps.database, step, homes)) standing.set(step, null)
    }),
  ])
  return standing
}

/**
 * A new decision leaves for the store within so long, or never: what was given up by others, a tombstone keeps out, and
 * tombstones are removed (removal.ts). It is far more than a record takes that anybody still waits for.
 */
const LEAVES_WITHIN_MS = 60_000

async function writeNewDecisions(
  { database, ledger, nowMs }: CommitDeps,
  steps: readonly Step[],
  standing: Map<Step, Settling | null>,
): Promise<void> {
  const creates = steps.flatMap((step) => {
    const { change } = step.record
    return change.kind === 'decision.create'
      ? [{ step, home: newDecision(step, change, ledger.find(change.reservation), nowMs()) }]
      : []
  })
  const there = await database.insertNew(
    database.decisions,
    creates.map(({ home }) => home),
    () => {
      assertCurrent(creates)
      return LEAVES_WITHIN_MS - Math.max(...creates.map(({ step }) => msSince(step.begun)))
    },
  )
  const doubtful = creates.filter((_, i) => there.has(i)).map(({ step }) => step)
  const own = await areOurs(database, doubtful)
  for (const { step, home } of creates) if (!doubtful.includes(step) || own.has(step)) standing.set(step, home)
}

/**
 * Asked whenever the records leave, also for another time: what became of the first time is not known by then, so that the
 * group is in doubt.
 */
function assertCurrent(written: readonly { readonly step: Step }[]): void {
  if (written.some(({ step }) => step.record.holds?.() === false))
    throw new StoreUnavailableError('What the records rest on does not count any more.')
}

function newDecision(
  step: Step,
  { decision, request }: ChangeOf<'decision.create'>,
  held: Reservation | null,
  nowMs: number,
): DecisionHome {
  const ledger = nextLines({}, decision.postings, held)
  return {
    _id: decision.id,
    rev: 1,
    version: decision.version,
    last: lastOf(step),
    is_void: false,
    at_ms: Date.parse(decision.evaluated_at),
    status: decision.status,
    expires_ms: Date.parse(decision.expires_at),
    agent_id: decision.agent_id,
    action: decision.action,
    resource: decision.resource,
    effect: decision.effect,
    policy_id: decision.policy_id,
    request_hash: decision.request_hash,
    key_id: decision.key_id,
    document: JSON.stringify(decision),
    context: request.context === null ? null : JSON.stringify(request.context),
    salt: request.salt,
    attempt: held?.attempt ?? null,
    ledger,
    ...(hasUnsettled(ledger) && { unsettled: nowMs }),
  }
}

async function moveDecisions(
  { database, ledger, nowMs }: CommitDeps,
  steps: readonly Step[],
  homes: Homes,
  standing: Map<Step, Settling | null>,
): Promise<void> {
  const moves = steps.flatMap((step) => {
    const { change } = step.record
    if (change.kind !== 'decision.update') return []
    const before = homes.decisions.get(change.decision.id) as DecisionHome
    const held = ledger.find(change.reservation)
    const lines = nextLines(before.ledger, change.decision.postings, held)
    const after: Settling = {
      _id: before._id,
      rev: before.rev + 1,
      attempt: held?.attempt ?? before.attempt,
      ledger: lines,
    }
    return [{ step, after, update: moveOf(step, change, before, after, nowMs()) }]
  })
  if (moves.length === 0) return
  const { matchedCount } = await database.call(async () => {
    assertCurrent(moves)
    return database.decisions.bulkWrite(
      moves.map(({ after: { _id, rev }, update }) => ({ updateOne: { filter: { _id, rev: rev - 1 }, update } })),
      { ordered: false },
    )
  })
  const own =
    matchedCount === moves.length
      ? null
      : await areOurs(
          database,
          moves.map(({ step }) => step),
        )
  for (const { step, after } of moves) if (own === null || own.has(step)) standing.set(step, after)
}

/** Sets single members: what is booked may have moved since the decision was read. */
function moveOf(
  step: Step,
  { decision }: ChangeOf<'decision.update'>,
  before: DecisionHome,
  after: Settling,
  nowMs: number,
) {
  const lines = Object.entries(after.ledger).map(([id, line]): [string, LedgerLine | LedgerLine['due']] =>
    before.ledger[id] === undefined ? [`ledger.${id}`, line] : [`ledger.${id}.due`, line.due],
  )
  return {
    $set: {
      rev: after.rev,
      version: decision.version,
      last: lastOf(step),
      status: decision.status,
      expires_ms: Date.parse(decision.expires_at),
      document: JSON.stringify(decision),
      attempt: after.attempt,
      ...Object.fromEntries(lines),
      ...(hasUnsettled(after.ledger) && { unsettled: nowMs }),
    },
  }
}

async function writeOther(database: Database, step: Step, homes: Homes): Promise<boolean> {
  const { change } = step.record
  switch (change.kind) {
    case 'decision.create':
    case 'decision.update':
      return false
    case 'policy.write':
      return writePolicy(database, step, change, homes.policies as PolicyDirectory)
    case 'agent.write':
      return writeAgent(database, step, change, homes.agents.get(change.agent.id))
    case 'key.write':
      return writeKey(database, step, change, homes.keys as KeyDirectory)
    case 'entry.only':
      return writeEntry(database, step)
    case 'call.only':
      return takeNames(database, [step.claim as Claim])
  }
}

async function writePolicy(
  database: Database,
  step: Step,
  { policy }: ChangeOf<'policy.write'>,
  { _id, rev }: PolicyDirectory,
): Promise<boolean> {
  const { id, version, document, deleted_at, policy_set } = policy
  const common = { rev: rev + 1, policy_set, last: lastOf(step), written: JSON.stringify(policy) }
  const update =
    deleted_at === null
      ? { $set: { ...common, [`live.${id}`]: { version, name: document.name } } }
      : { $set: common, $unset: { [`live.${id}`]: 1 as const } }
  const { matchedCount } = await database.call(() => database.policyDirectory.updateOne({ _id, rev }, update))
  return matchedCount === 1 || (await areOurs(database, [step])).has(step)
}

async function writeKey(
  database: Database,
  step: Step,
  { key }: ChangeOf<'key.write'>,
  directory: KeyDirectory,
): Promise<boolean> {
  const { _id, rev } = directory
  const over = keysOver(directory, key.id, (step.record.entry as AuditEntry).at)
  await retireKeys(database, over)
  const update = {
    $set: { rev: rev + 1, last: lastOf(step), [`keys.${key.id}`]: keyEntryOf(key) },
    ...(over.length > 0 && { $unset: Object.fromEntries(over.map(([id]) => [`keys.${id}`, 1 as const])) }),
  }
  const { matchedCount } = await database.call(() => database.keyDirectory.updateOne({ _id, rev }, update))
  return matchedCount === 1 || (await areOurs(database, [step])).has(step)
}

async function writeAgent(
  database: Database,
  step: Step,
  { agent }: ChangeOf<'agent.write'>,
  before: AgentHome | undefined,
): Promise<boolean> {
  const isHeld = agent.registration !== null || agent.suspended !== null
  const isSeen = before?.is_seen ?? false
  const written = {
    version: agent.version,
    last: lastOf(step),
    is_held: isHeld,
    document: JSON.stringify(agent),
  }
  if (before === undefined) {
    const home = { ...unwrittenAgent(agent.id, agent.known_at), ...written, rev: 1, is_listed: isHeld }
    return (await database.insertNew(database.agents, [home])).size === 0 || (await areOurs(database, [step])).has(step)
  }
  const { _id, rev } = before
  const { matchedCount } = await database.call(() =>
    database.agents.updateOne(
      // Seen meanwhile, it stays listed.
      { _id, rev, is_seen: isSeen },
      { $set: { ...written, rev: rev + 1, is_listed: isHeld || isSeen } },
    ),
  )
  return matchedCount === 1 || (await areOurs(database, [step])).has(step)
}

async function writeEntry(database: Database, step: Step): Promise<boolean> {
  const there = await database.insertNew(database.audit, [auditDocumentOf(step.record.entry as AuditEntry)])
  return there.size === 0 || (await areOurs(database, [step])).has(step)
}

/** The records among these that stand: their homes name them as the last, or the log holds their entries already. */
async function areOurs(database: Database, steps: readonly Step[]): Promise<ReadonlySet<Step>> {
  if (steps.length === 0) return new Set()
  // The homes first: a record leaves its home only once its entry is in the log.
  const homes = await readHomes(database, steps)
  const ids = steps.flatMap(({ place }) => (place === null ? [] : [auditId(place)]))
  const found = await database.call(() =>
    database.audit
      .find({ _id: { $in: ids } })
      .project<Pick<AuditDocument, '_id' | 'id' | 'type'>>({ id: 1, type: 1 })
      .toArray(),
  )
  const entries = new Map(found.map((entry) => [entry._id, entry]))
  return new Set(
    steps.filter(({ place, home }) => {
      if (place === null) return false
      if (isPlace(homes.lastOf(home), place)) return true
      const entry = entries.get(auditId(place))
      return entry !== undefined && entry.id === place.entry_id && entry.type !== 'void'
    }),
  )
}

function lastOf({ place, record }: Step): LastRecord {
  return { ...(place as NonNullable<Step['place']>), entry: JSON.stringify(record.entry) }
}
