import type { AuditEntry } from '@countersign/contract'
import type { Conflict } from '../../../ports/store/store.js'
import type { MongoLedger } from '../budgets/ledger.js'
import { canCommit } from '../budgets/ledger-lines.js'
import { auditId, isSameEntry } from '../collections/audit.js'
import { hasRoomForKey, readKeyDirectory, readRetiredKeys } from '../collections/keys.js'
import { hasRoomForPolicy, lastVersion, POLICIES } from '../collections/policies.js'
import { hasRoomForWebhook, readWebhookDirectory } from '../collections/webhooks.js'
import type { Database } from '../connection/database.js'
import type {
  AgentDocument,
  DecisionDocument,
  KeyDirectory,
  LastRecord,
  PolicyDirectory,
  Primary,
  PrimaryName,
  RetiredKey,
  WebhookDirectory,
} from '../stored.js'
import type { ChangeOf, Step } from './step.js'

/** The documents that records are about to write, as they were read. */
export class Primaries {
  constructor(
    readonly decisions: ReadonlyMap<string, DecisionDocument>,
    readonly agents: ReadonlyMap<string, AgentDocument>,
    readonly policies: PolicyDirectory | null,
    readonly keys: KeyDirectory | null,
    readonly webhooks: WebhookDirectory | null,
    /** The last versions of deleted policies. */
    private readonly goneVersions: ReadonlyMap<string, number>,
    /** The retired keys that the records name. */
    private readonly retiredKeys: readonly RetiredKey[],
  ) {}

  all(): readonly Primary[] {
    const directories = [this.policies, this.keys, this.webhooks].filter((directory) => directory !== null)
    return [...this.decisions.values(), ...this.agents.values(), ...directories]
  }

  lastOf({ kind, id }: PrimaryName): LastRecord | null {
    const [decision, agent] = [this.decisions.get(id), this.agents.get(id)]
    const { policies, keys, webhooks } = this
    return { decision, agent, policies, keys, webhooks, none: null }[kind]?.last ?? null
  }

  /** Returns the condition of a record that does not hold here, apart from its log position and its claim. */
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
      case 'webhook.write':
        return this.#webhookConflict(change)
      case 'entry.only':
      case 'call.only':
        return null
    }
  }

  #updateConflict({ decision, expected_version, reservation }: ChangeOf<'decision.update'>, ledger: MongoLedger) {
    const found = this.decisions.get(decision.id)
    if (found === undefined || found.is_void || found.version !== expected_version) return 'version'
    const held = ledger.find(reservation)
    // Its marks are valid only while the number that they are based on has not been incremented.
    const isStale = held !== null && (held.rev !== found.rev || !canCommit(found.ledger, held))
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

  #webhookConflict({ webhook, expected_version }: ChangeOf<'webhook.write'>): Conflict | null {
    const { webhooks } = this.webhooks as WebhookDirectory
    const present = webhooks[webhook.id]
    if ((present?.version ?? 0) !== expected_version) return 'version'
    // A missing webhook cannot be deleted.
    if (webhook.deleted_at !== null) return present === undefined ? 'version' : null
    return hasRoomForWebhook(webhooks, webhook) ? null : 'too_large'
  }
}

export async function readPrimaries(database: Database, steps: readonly Step[]): Promise<Primaries> {
  const idsOf = (kind: PrimaryName['kind']) =>
    steps.flatMap(({ primary }) => (primary.kind === kind ? [primary.id] : []))
  const [decisionIds, agentIds] = [idsOf('decision'), idsOf('agent')]
  const keyChanges = steps.flatMap(({ record: { change } }) => (change.kind === 'key.write' ? [change] : []))
  const [decisions, agents, policies, keys, webhooks] = await Promise.all([
    decisionIds.length === 0
      ? []
      : database.call(() =>
          database.decisions
            .find({ _id: { $in: decisionIds } })
            .project<DecisionDocument>({
              rev: 1,
              version: 1,
              last: 1,
              is_void: 1,
              ledger: 1,
              attempt: 1,
              request_hash: 1,
            })
            .toArray(),
        ),
    agentIds.length === 0 ? [] : database.call(() => database.agents.find({ _id: { $in: agentIds } }).toArray()),
    idsOf('policies').length === 0 ? null : database.call(() => database.policyDirectory.findOne({ _id: POLICIES })),
    idsOf('keys').length === 0 ? null : readKeyDirectory(database),
    idsOf('webhooks').length === 0 ? null : readWebhookDirectory(database),
  ])
  const gone = steps.flatMap(({ record: { change } }) =>
    change.kind === 'policy.write' && policies?.live[change.policy.id] === undefined ? [change.policy.id] : [],
  )
  const versions = await Promise.all(gone.map(async (id) => [id, await lastVersion(database, id)] as const))
  const byId = <T extends Primary>(primaries: readonly T[]) =>
    new Map(primaries.map((primary) => [primary._id, primary]))
  // Read after the directory: keys that leave the directory are here by then.
  const retired = await readRetiredKeys(database, keyChanges)
  return new Primaries(byId(decisions), byId(agents), policies, keys, webhooks, new Map(versions), retired)
}

/**
 * Returns the committed records among these: their primaries name them as the last record, or the log contains their
 * entries.
 */
export async function committedAmong(database: Database, steps: readonly Step[]): Promise<ReadonlySet<Step>> {
  if (steps.length === 0) return new Set()
  // Reads the primaries first, because they drop their last record only after its entry is in the log.
  const primaries = await readPrimaries(database, steps)
  const ids = steps.flatMap(({ position }) => (position === null ? [] : [auditId(position)]))
  const entries = await database.findByIds(database.audit, ids, ['id', 'type'])
  return new Set(
    steps.filter(({ position, primary }) => {
      if (position === null) return false
      if (isSameEntry(primaries.lastOf(primary), position)) return true
      const entry = entries.get(auditId(position))
      return entry !== undefined && entry.id === position.entry_id && entry.type !== 'void'
    }),
  )
}
