import type { ApiKey } from '@countersign/contract'
import type { Page, PageRequest } from '../../ports/store.js'
import type { Keys } from '../../state/keys.js'
import { viewKey } from './view.js'

/** Every key, revoked ones too, newest first. */
export function listKeys(deps: { readonly keys: Keys }, page: PageRequest): Page<ApiKey> {
  const { after } = page
  const rest = deps.keys.all().filter((key) => after === null || key.id < after)
  const items = rest.slice(0, page.limit)
  return {
    items: items.map((key) => viewKey(key, deps.keys)),
    next: rest.length > items.length ? (items.at(-1)?.id ?? null) : null,
  }
}
