/** The policy for the canaries of a trial: it allows one call, and a later trial deletes it at the latest. */
import type { CountersignClient } from '../../countersign-client.js'
import { ApiError } from '../../errors/api-error.js'
import type { Policy, Rule } from '../../wire.js'
import type { GuardCanary, VerifyGuardOptions } from './guard-check.js'

const NAME = /^verifyGuard [0-9a-f-]{36}$/
/** Longer than a trial takes. */
const DEAD_MS = 60 * 60 * 1000

/**
 * Does the work while the policy exists. If the process is killed, the policy stays. It can allow one call with the question of
 * the canary, and a trial after an hour deletes it.
 *
 * @throws TypeError if the canaries cannot have a policy
 */
export async function withCanaryPolicy<Result>(
  options: VerifyGuardOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const { admin } = options
  if (admin === undefined) return work()
  const made = await admin.policies.create({
    name: `verifyGuard ${crypto.randomUUID()}`,
    description: 'Created by verifyGuard for its canaries. Delete it if the trial was killed.',
    priority: 1_000_000,
    rules: rulesFor(options),
    // It permits only one call.
    budget: { limit: 1, unit: 'calls', amount: 1, period: 'total' },
  })
  try {
    await deleteDead(admin, made)
    return await work()
  } finally {
    await deletePolicy(admin, made.id)
  }
}

/** The denying rule comes first. */
function rulesFor({ allowed, denied, review }: VerifyGuardOptions): [Rule, ...Rule[]] {
  const rules = [ruleFor('deny', denied), ruleFor('review', review), ruleFor('allow', allowed)]
  const [first, ...others] = rules.filter((rule) => rule !== undefined)
  if (first === undefined) throw new TypeError('admin needs what a canary asks about, in its member asked')
  const questions = [first, ...others].map(({ action, conditions }) => JSON.stringify([action, conditions]))
  if (new Set(questions).size < questions.length) throw new TypeError('two canaries ask the same question')
  return [first, ...others]
}

/** Only for the agent, action and resource of the canary: no patterns, and no missing value. */
function ruleFor(effect: Rule['effect'], canary: GuardCanary | undefined): Rule | undefined {
  if (canary?.asked === undefined) return undefined
  const { agent_id, action, resource } = canary.asked
  const isAbout = typeof resource === 'string' ? { $eq: resource } : { $exists: false }
  const conditions = { agent_id: { $eq: agent_id }, resource: isAbout }
  return effect === 'allow' ? { action, effect, conditions } : { action, effect, conditions, on_unknown: 'skip' }
}

/** Deletes policies of trials that must have ended, by the clock of the decision point. */
async function deleteDead(admin: CountersignClient, made: Policy): Promise<void> {
  const beforeMs = Date.parse(made.created_at) - DEAD_MS
  for await (const { id, name, created_at } of admin.policies.list()) {
    if (NAME.test(name) && Date.parse(created_at) < beforeMs) await deletePolicy(admin, id)
  }
}

/** Succeeds also if it is already deleted. */
async function deletePolicy(admin: CountersignClient, id: string): Promise<void> {
  await admin.policies.delete(id).catch((error: unknown) => {
    if (!ApiError.isInstance(error) || error.status !== 404) throw error
  })
}
