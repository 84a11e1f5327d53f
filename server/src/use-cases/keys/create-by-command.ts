import { DomainError } from '../../domain-error.js'
import type { CommandResult, CreateKeyCommand } from '../../ports/admin-command.js'
import { type CreateKeyDeps, createKey, OPERATOR, SecretTakenError } from './create.js'

/**
 * Creates the key that an admin command describes. The same command may run again after a crash: it creates only one
 * key, and does not restore a key that was revoked since.
 *
 * @throws StoreUnavailableError: the command may run again
 */
export async function createKeyByCommand(
  deps: CreateKeyDeps,
  { key, secret }: CreateKeyCommand,
): Promise<CommandResult> {
  try {
    await createKey(deps, OPERATOR, key, secret)
    return { done: true }
  } catch (error) {
    if (error instanceof SecretTakenError) return { done: true }
    if (error instanceof DomainError) return { refused: sentenceOf(error) }
    throw error
  }
}

function sentenceOf({ detail, errors }: DomainError): string {
  if (errors === undefined) return detail
  return `${errors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`).join('; ')}.`
}
