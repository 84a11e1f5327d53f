import type { ApiKey } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { StoredKey } from '../../ports/store/documents.js'
import type { Keys } from '../../state/keys.js'
import { viewKey } from './view.js'

/** @throws DomainError not_found */
export function getKey(deps: { readonly keys: Keys }, id: string): ApiKey {
  return viewKey(findKey(deps.keys, id), deps.keys)
}

/** @throws DomainError not_found */
export function findKey(keys: Keys, id: string): StoredKey {
  const key = keys.find(id)
  if (key === undefined) throw new DomainError('not_found')
  return key
}
