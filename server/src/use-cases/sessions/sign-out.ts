import { hashKeyText } from '../../api-key-text.js'
import { sessionsAt } from '../keys/sessions-at.js'
import { type WriteKeyDeps, writeKey } from '../keys/write.js'

/** Ends a session. Does nothing when it has ended. */
export async function signOut(deps: WriteKeyDeps, text: string): Promise<void> {
  // In its turn, this process has caught up with the store: another one may have started the session a moment ago.
  await deps.changes.run(null, async () => {
    const at = deps.clock.now().toISOString()
    const present = deps.keys.authenticateSession(text, at)?.key
    if (present === undefined) return
    const sessions = sessionsAt(present, at).filter(({ hash }) => hash !== hashKeyText(text))
    const key = { ...present, version: present.version + 1, sessions }
    await writeKey(deps, key, { type: 'key.signed_out', actor: present.id, at, data: {}, idempotency: null })
  })
}
