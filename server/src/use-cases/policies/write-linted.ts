import type { Policy, Warning } from '@countersign/contract'
import type { StoreMutex } from '../../state/store-mutex.js'
import type { ChangingCall } from '../idempotency.js'
import { type LintedDocument, lintBeside } from './lint-beside.js'
import type { WritePolicyDeps } from './write.js'

export interface WriteLintedDeps extends WritePolicyDeps {
  readonly mutex: StoreMutex
}

export interface PolicyCall extends ChangingCall {
  /** Awaited between the parts of the check. */
  readonly pause: () => Promise<void>
}

/** After this number of attempts, the last warnings are used: a warning never prevents a policy from being stored. */
const MAX_LOOKS = 3

/**
 * Lints a document, then writes it. Linting is slow and pauses, and a change blocks all other changes, such as revoking
 * a key or suspending an agent. So linting runs before the change, and once more when a policy has changed since.
 * Documents are linted one at a time: each needs many times its own size in memory.
 *
 * @param write makes the change, with the warnings
 * @throws what `write` throws
 */
export function writeLinted(
  deps: WriteLintedDeps,
  { caller, pause }: PolicyCall,
  linted: LintedDocument,
  write: (warnings: Warning[]) => Promise<Policy>,
): Promise<Policy> {
  return deps.mutex.run('policies', async () => {
    for (let looks = 1; ; looks++) {
      const { policySet } = deps.policies
      const warnings = await lintBeside(deps.policies, linted, pause)
      const policy = await deps.changes.run(caller.key.id, async () => {
        const isOutdated = deps.policies.policySet !== policySet && looks < MAX_LOOKS
        return isOutdated ? null : write(warnings)
      })
      if (policy !== null) return policy
    }
  })
}
