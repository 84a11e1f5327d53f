import type { FeedBatch } from '../../ports/store/feed.js'
import type { Connection } from './driver.js'
import { writeCounts } from './tables/counts.js'
import { addDeliveries } from './tables/deliveries.js'
import { saveReader } from './tables/readers.js'
import { addCheckpoints, addNodes } from './tables/trees.js'

/** Uses one transaction, so that the positions never exist without the rest. False: another holder has the reader. */
export function saveBatch(db: Connection, batch: FeedBatch): boolean {
  return db.transaction(() => {
    if (!saveReader(db, batch)) return false
    addDeliveries(db, batch.deliveries)
    writeCounts(db, batch.counts)
    addNodes(db, batch.nodes)
    addCheckpoints(db, batch.checkpoints)
    return true
  })
}
