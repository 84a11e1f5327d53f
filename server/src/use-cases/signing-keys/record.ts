import type { Store } from '@countersign/store-port/store'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Signer } from '../../ports/signer.js'

export interface RecordSigningKeysDeps {
  readonly signer: Pick<Signer, 'history'>
  readonly store: Pick<Store, 'listAuditEntries'>
  readonly writer: MutationWriter
}

/**
 * Writes the changes of the signing keys that the audit log does not have yet. The keys change first, so a crash can come
 * between the two. Run it again until it succeeds, one run at a time.
 */
export async function recordSigningKeys({ signer, store, writer }: RecordSigningKeysDeps): Promise<void> {
  for (const { type, kid, at, public_jwk } of signer.history()) {
    const { items } = await store.listAuditEntries({ type, subject: kid }, { limit: 1, after: null })
    if (items.length > 0) continue
    await writer.write({
      entry: { at, type, actor: null, subject: kid, agent_id: null, data: { public_jwk: { ...public_jwk } } },
      change: () => ({ kind: 'entry.only' }),
      idempotency: null,
    })
  }
}
