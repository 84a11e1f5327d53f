import type { SigningKeyChange } from '../../ports/signer.js'
import type { RecordWriter } from '../../record-writer.js'

/** Tells the audit log what happened to the signing keys, on the operator's machine or by the clock. */
export async function recordSigningKeyChanges(
  deps: { readonly writer: RecordWriter },
  changes: readonly SigningKeyChange[],
): Promise<void> {
  for (const { type, kid, at, public_jwk } of changes) {
    await deps.writer.write({
      entry: { at, type, actor: null, subject: kid, agent_id: null, data: { public_jwk: { ...public_jwk } } },
      change: () => ({ kind: 'entry.only' }),
      idempotency: null,
    })
  }
}
