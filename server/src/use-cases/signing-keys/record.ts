import type { MutationWriter } from '../../mutation-writer.js'
import type { Signer } from '../../ports/signer.js'
import type { Store } from '../../ports/store/store.js'

export interface RecordSigningKeysDeps {
  readonly signer: Pick<Signer, 'history'>
  readonly store: Pick<Store, 'audit'>
  readonly writer: MutationWriter
}

/**
 * Writes the changes of the signing keys that the audit log lacks. The keys change first, so a crash can come between
 * the two. Run it again until it succeeds, one run at a time.
 */
export async function recordSigningKeys({ signer, store, writer }: RecordSigningKeysDeps): Promise<void> {
  for (const { type, kid, at, public_jwk } of signer.history()) {
    const { items } = await store.audit.list({ type, subject: kid }, { limit: 1, after: null })
    if (items.length > 0) continue
    await writer.writeEntry({ at, type, subject: kid, data: { public_jwk: { ...public_jwk } } })
  }
}
