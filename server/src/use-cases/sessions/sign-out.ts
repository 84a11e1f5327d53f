import { hashKeyText } from '../../api-key-text.js'
import { sessionsAt } from '../../state/keys.js'
import { type WriteKeyDeps, writeKey } from '../keys/write.js'

/** Ends a session. Does nothing when it has already ended. */
export async function signOut(deps: WriteKeyDeps, text: string): Promise<void> {
  // Another process may have started the session a moment ago; inside a change, this process has caught up with the
  // store.
  await deps.changes.run(null, async () => {
    const at = deps.clock.now().toISOString()
    const present = deps.keys.authenticateSession(text, at)?.key
    if (present === undefined) return
    const sessions = sessionsAt(present, at).filter(({ hash }) => hash !== hashKeyText(text))
    const key = { ...present, version: present.version + 1, sessions }
    await writeKey(deps, key, { type: 'key.signed_out', actor: present.id, at, traceId: null, idempotency: null })
  })
}
