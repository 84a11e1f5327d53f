import type { Webhook } from '@countersign/contract'
import type { Page, PageRequest } from '../../ports/store/page.js'
import { leaveOut } from '../../ports/store/row-document.js'
import { viewWebhook } from './view.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

/** Lists webhooks, newest first, without damaged rows. */
export async function listWebhooks(
  { store }: Pick<WriteWebhookDeps, 'store'>,
  { limit, after }: PageRequest,
): Promise<Page<Webhook>> {
  const all = (await store.webhooks.load(leaveOut)).toReversed().filter(({ id }) => after === null || id < after)
  const items = all.slice(0, limit).map(viewWebhook)
  return { items, next: all.length > limit ? (items.at(-1)?.id ?? null) : null }
}

/** @throws DomainError not_found; DamagedRecordError when its row is damaged */
export async function getWebhook(deps: Pick<WriteWebhookDeps, 'store'>, id: string): Promise<Webhook> {
  return viewWebhook(await findWebhook(deps, id))
}
