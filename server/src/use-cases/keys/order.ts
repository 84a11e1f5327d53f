import { DomainError } from '../../domain-error.js'
import type { KeyOrder, OrderAnswer } from '../../ports/operator-order.js'
import { type CreateKeyDeps, createKey, SecretTakenError } from './create.js'

/**
 * Makes the key that the operator ordered. An order may come again after a crash: it makes one key, and none anew after
 * that one was revoked.
 *
 * @throws StoreUnavailableError: the order may come again
 */
export async function makeOrderedKey(deps: CreateKeyDeps, { key, secret }: KeyOrder): Promise<OrderAnswer> {
  try {
    await createKey(deps, null, key, secret, null)
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
