import type { Webhook } from '@countersign/contract'
import type { Page, PageRequest } from '@countersign/store-port/store'
import { viewWebhook } from './view.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

/** Webhooks, newest first. */
export async function listWebhooks(
  { store }: Pick<WriteWebhookDeps, 'store'>,
  { limit, after }: PageRequest,
): Promise<Page<Webhook>> {
  const all = (await store.loadWebhooks()).toReversed().filter(({ id }) => after === null || id < after)
  const items = all.slice(0, limit).map(viewWebhook)
  return { items, next: all.length > limit ? (items.at(-1)?.id ?? null) : null }
}

/** @throws DomainError not_found */
export async function getWebhook(deps: Pick<WriteWebhookDeps, 'store'>, id: string): Promise<Webhook> {
  return viewWebhook(await findWebhook(deps, id))
}
