import type { KeySession, StoredKey } from '@countersign/store-port/documents'

/** The sessions of a key that are not over. */
export function sessionsAt({ sessions = [] }: StoredKey, now: string): readonly KeySession[] {
  return sessions.filter(({ expires_at }) => expires_at > now)
}
