import type { MutationWriter } from '../../mutation-writer.js'
import type { CommandResult } from '../../ports/admin-command.js'
import type { Clock } from '../../ports/clock.js'
import { ROOT_TREE } from './trees.js'

export interface AcceptRewriteDeps {
  readonly clock: Clock
  readonly writer: MutationWriter
  readonly trees: {
    readonly toAccept: () => Promise<{ readonly found: string } | { readonly refused: string }>
    readonly acceptRewrite: () => Promise<void>
  }
}

/**
 * Accepts the audit log as the store holds it, on behalf of the operator. The entry is written first, so no log is
 * accepted without one.
 *
 * @throws StoreUnavailableError
 */
export async function acceptRewrite({ clock, writer, trees }: AcceptRewriteDeps): Promise<CommandResult> {
  const accepted = await trees.toAccept()
  if ('refused' in accepted) return accepted
  const at = clock.now().toISOString()
  await writer.writeEntry({ at, type: 'log.rewrite_accepted', subject: ROOT_TREE, data: accepted })
  await trees.acceptRewrite()
  return { done: true }
}
