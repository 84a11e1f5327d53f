import type { AuditEntry } from '@countersign/contract'
import type { Settling } from '../budgets/settlements.js'
import { unwrittenAgent } from '../collections/agents.js'
import { auditDocumentOf } from '../collections/audit.js'
import { keyEntryOf, keysOver, retireKeys } from '../collections/keys.js'
import { webhookEntryOf } from '../collections/webhooks.js'
import { allDone } from '../connection/all-done.js'
import { type Database, isTooLarge } from '../connection/database.js'
import type { AgentDocument, Claim, KeyDirectory, PolicyDirectory, WebhookDirectory } from '../stored.js'
import { takeNames } from './claims.js'
import { committedAmong, type Primaries } from './primaries.js'
import { type ChangeOf, lastOf, type Step } from './step.js'
import { type WriteDeps, writeNewDecisions, writeTransitions } from './write-decisions.js'

interface WrittenPrimaries {
  /** The committed records, each with the amounts that its decision's accounts must follow. */
  readonly committed: ReadonlyMap<Step, Settling | null>
  readonly tooLarge: ReadonlySet<Step>
}

export async function writePrimaries(
  deps: WriteDeps,
  steps: readonly Step[],
  primaries: Primaries,
): Promise<WrittenPrimaries> {
  try {
    return { committed: await writeTogether(deps, steps, primaries), tooLarge: new Set() }
  } catch (error) {
    if (!isTooLarge(error)) throw error
  }
  // Written separately, so that one failure does not affect the others.
  const committed = new Map<Step, Settling | null>()
  const tooLarge = new Set<Step>()
  for (const step of steps)
    try {
      for (const [one, settling] of await writeTogether(deps, [step], primaries)) committed.set(one, settling)
    } catch (error) {
      if (!isTooLarge(error)) throw error
      tooLarge.add(step)
    }
  return { committed, tooLarge }
}

async function writeTogether(
  deps: WriteDeps,
  steps: readonly Step[],
  primaries: Primaries,
): Promise<ReadonlyMap<Step, Settling | null>> {
  const committed = new Map<Step, Settling | null>()
  // When the commit fails, no write of this group is still in progress.
  await allDone([
    writeNewDecisions(deps, steps, committed),
    writeTransitions(deps, steps, primaries, committed),
    ...steps.map(async (step) => {
      if (await writeOther(deps.database, step, primaries)) committed.set(step, null)
    }),
  ])
  return committed
}

async function writeOther(database: Database, step: Step, primaries: Primaries): Promise<boolean> {
  const { change } = step.record
  switch (change.kind) {
    case 'decision.create':
    case 'decision.update':
      return false
    case 'policy.write':
      return writePolicy(database, step, change, primaries.policies as PolicyDirectory)
    case 'agent.write':
      return writeAgent(database, step, change, primaries.agents.get(change.agent.id))
    case 'key.write':
      return writeKey(database, step, change, primaries.keys as KeyDirectory)
    case 'webhook.write':
      return writeWebhook(database, step, change, primaries.webhooks as WebhookDirectory)
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
  return matchedCount === 1 || (await committedAmong(database, [step])).has(step)
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
  return matchedCount === 1 || (await committedAmong(database, [step])).has(step)
}

async function writeWebhook(
  database: Database,
  step: Step,
  { webhook }: ChangeOf<'webhook.write'>,
  { _id, rev }: WebhookDirectory,
): Promise<boolean> {
  const common = { rev: rev + 1, last: lastOf(step) }
  const update =
    webhook.deleted_at === null
      ? { $set: { ...common, [`webhooks.${webhook.id}`]: webhookEntryOf(webhook) } }
      : { $set: common, $unset: { [`webhooks.${webhook.id}`]: 1 as const } }
  const { matchedCount } = await database.call(() => database.webhookDirectory.updateOne({ _id, rev }, update))
  return matchedCount === 1 || (await committedAmong(database, [step])).has(step)
}

async function writeAgent(
  database: Database,
  step: Step,
  { agent }: ChangeOf<'agent.write'>,
  before: AgentDocument | undefined,
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
    const primary = { ...unwrittenAgent(agent.id, agent.known_at), ...written, rev: 1, is_listed: isHeld }
    return (
      (await database.insertNew(database.agents, [primary])).size === 0 ||
      (await committedAmong(database, [step])).has(step)
    )
  }
  const { _id, rev } = before
  const { matchedCount } = await database.call(() =>
    database.agents.updateOne(
      // An agent that was seen in between stays listed.
      { _id, rev, is_seen: isSeen },
      { $set: { ...written, rev: rev + 1, is_listed: isHeld || isSeen } },
    ),
  )
  return matchedCount === 1 || (await committedAmong(database, [step])).has(step)
}

async function writeEntry(database: Database, step: Step): Promise<boolean> {
  const there = await database.insertNew(database.audit, [auditDocumentOf(step.record.entry as AuditEntry)])
  return there.size === 0 || (await committedAmong(database, [step])).has(step)
}
