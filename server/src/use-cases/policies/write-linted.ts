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

/** After so many, the warnings are those of the last one: a warning never keeps a policy from being stored. */
const MAX_LOOKS = 3

/**
 * Lints a document, then writes it. Lint is long and pauses, and all other changes wait while one is made: a key that is
 * revoked, an agent that is suspended. So lint comes before the change, and once more when a policy has changed meanwhile.
 * Documents are linted one after the other: each needs many times its own size.
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
