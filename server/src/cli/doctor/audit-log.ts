import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CheckpointFile } from '../../adapters/checkpoint-memory/checkpoint-file.js'
import { systemClock } from '../../adapters/system-clock.js'
import type { Config } from '../../config.js'
import { findGap, gapText } from '../../feed/trees/find-gap.js'
import { findRewrite } from '../../feed/trees/find-rewrite.js'
import type { FeedStore, Positions } from '../../ports/store/feed.js'
import { readTrees } from '../../use-cases/audit/checkpoints.js'
import { checkpointKeysOf } from '../checkpoint-keys.js'
import { type Finding, fine, problem } from './finding.js'

/**
 * Whether the audit log extends what this server has signed and seen.
 *
 * @param isDeep whether to read all entries, and compare them with the checkpoints
 */
export async function checkAuditLog({ dataDir, mongodbUrl }: Config, isDeep: boolean): Promise<Finding> {
  if (mongodbUrl === null && !existsSync(join(dataDir, 'countersign.db'))) return fine('There is none yet.')
  const remembered = await new CheckpointFile(dataDir).read()
  const { store, replicas } = await openToRead(dataDir, mongodbUrl)
  const keys = () => checkpointKeysOf({ dataDir, clock: systemClock() }, replicas)
  try {
    const found = await findRewrite(store, remembered, keys, isDeep)
    if (found !== null) return problem(found, FIX)
    const gap = await findGap(store, await positionsOf(store), isDeep ? Number.POSITIVE_INFINITY : GAP_LOOK)
    if (gap !== null) return problem(gapText(gap), GAP_FIX)
    if (remembered.kind === 'nothing')
      return fine('DATA_DIR remembers no checkpoint: the next start accepts the log as it is.')
    if (remembered.kind === 'restored') return fine('The store was restored: the next start begins another root log.')
    return fine(
      isDeep ? 'Every entry is unchanged since it was signed.' : 'It continues from what this server has signed.',
    )
  } finally {
    await store.close()
  }
}

async function openToRead(dataDir: string, mongodbUrl: string | null) {
  if (mongodbUrl === null) {
    const { openSqliteFeedToRead } = await import('../../stores/sqlite/open-feed.js')
    return { store: openSqliteFeedToRead(dataDir), replicas: null }
  }
  const clock = systemClock()
  const { openMongoFeedStore } = await import('../../stores/mongodb/open-feed.js')
  const store = await openMongoFeedStore({ url: mongodbUrl, nowMs: () => clock.now().getTime() })
  return { store, replicas: store }
}

/** The positions after the checkpoints. */
async function positionsOf(store: FeedStore): Promise<Positions> {
  const { logs } = await readTrees(store)
  return Object.fromEntries(Object.entries(logs).map(([log, { tree }]) => [log, tree.size]))
}

/** More entries than ever lack a checkpoint while a server runs. */
const GAP_LOOK = 10_000
const GAP_FIX = 'find out who removed it, and restore the store. The entry cannot be recreated. See docs/audit.md.'

const FIX =
  'find out who changed it, and restore the store. To continue with it as it is, run: countersign audit accept-rewrite. See docs/audit.md.'
