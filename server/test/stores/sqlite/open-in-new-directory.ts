import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { openSqliteFeed } from '#server/stores/sqlite/open-feed'
import type { OpenedStore } from '../../store-suite/index.js'

/** An embedded store on real files in a directory that is removed in the end. */
export async function openInNewDirectory(): Promise<OpenedStore> {
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-store-'))
  let store = await openSqliteStore({ dataDir })
  return {
    store,
    async reopen() {
      await store.close()
      store = await openSqliteStore({ dataDir })
      return store
    },
    openFeedReads: async () => openSqliteFeed(dataDir, () => store.connectWriter()),
    async destroy() {
      await store.close()
      rmSync(dataDir, { recursive: true })
    },
  }
}
