import type { StoredKey } from '../../../ports/store/documents.js'
import type { OnDamaged } from '../../../ports/store/errors.js'
import { ofSoundRows } from '../../../ports/store/row-document.js'
import type { Change, Conflict } from '../../../ports/store/store.js'
import type { Connection } from '../driver.js'
import { documentReader, writeVersion } from './documents.js'

type KeyWrite = Extract<Change, { readonly kind: 'key.write' }>

export function writeKey(
  db: Connection,
  { key, expected_version: expectedVersion, beside = [] }: Omit<KeyWrite, 'kind'>,
): Conflict | null {
  const isMoved = beside.some(
    ({ id, version }) => db.get('SELECT 1 FROM keys WHERE id = ? AND version = ?', id, version) === undefined,
  )
  if (isMoved) return 'version'
  if (!writeVersion(db, 'keys', key, expectedVersion)) return 'version'
  return key.secrets.some(({ hash }) => isOfAnother(db, key.id, hash)) ? 'key_secret' : null
}

/** Reads every key: there are few, and they are rarely written. */
function isOfAnother(db: Connection, id: string, hash: string): boolean {
  const found = db.get(
    `SELECT 1 FROM keys, json_each(keys.document, '$.secrets') AS secret
     WHERE keys.id <> ? AND secret.value ->> 'hash' = ? LIMIT 1`,
    id,
    hash,
  )
  return found !== undefined
}

export function loadKeys(db: Connection, onDamaged?: OnDamaged): readonly StoredKey[] {
  return ofSoundRows(db.all('SELECT id, version, document FROM keys ORDER BY id'), keyOf, onDamaged)
}

const keyOf = documentReader<StoredKey>('key')

export function loadKeyUses(db: Connection): ReadonlyMap<string, string> {
  return new Map(
    db.all('SELECT key_id, used_at FROM key_uses').map((row) => [row.key_id as string, row.used_at as string]),
  )
}

export function saveKeyUses(db: Connection, uses: ReadonlyMap<string, string>): void {
  db.transaction(() => {
    for (const [keyId, usedAt] of uses) {
      db.run(
        `INSERT INTO key_uses (key_id, used_at) VALUES (?1, ?2)
         ON CONFLICT (key_id) DO UPDATE SET used_at = max(used_at, ?2)`,
        keyId,
        usedAt,
      )
    }
  })
}
