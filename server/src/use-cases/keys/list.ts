import type { ApiKey } from '@countersign/contract'
import type { Page, PageRequest } from '../../ports/store/page.js'
import { PageRoom } from '../../ports/store/page-room.js'
import type { Keys } from '../../state/keys.js'
import { viewKey } from './view.js'

/** All keys, newest first, revoked ones included. */
export async function listKeys(deps: { readonly keys: Keys }, page: PageRequest): Promise<Page<ApiKey>> {
  const { after, pause } = page
  const room = new PageRoom(page)
  const items: ApiKey[] = []
  for (const key of deps.keys.all()) {
    if (after !== null && key.id >= after) continue
    await pause?.()
    const item = viewKey(key, deps.keys)
    if (!room.takes(Buffer.byteLength(JSON.stringify(item)))) return { items, next: items.at(-1)?.id ?? null }
    items.push(item)
  }
  return { items, next: null }
}
