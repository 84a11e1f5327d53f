/** The writer's thread: the one connection that writes, so that waiting for the disk stops nobody else. */
import { parentPort, workerData } from 'node:worker_threads'
import { Checkpoints } from './checkpoints.js'
import { commitMutations } from './commit.js'
import { Connection, sqliteCode } from './driver.js'
import { mutationsOf } from './group-text.js'
import { saveBatch } from './save-batch.js'
import { configureWriter } from './schema.js'
import { nextLogIndex } from './tables/audit-entries.js'
import { removeCounts } from './tables/counts.js'
import { removeDecisions } from './tables/decisions.js'
import { addDeliveries, removeDeliveries, updateDeliveries } from './tables/deliveries.js'
import { purgeIdempotency } from './tables/idempotency.js'
import { saveKeyUses } from './tables/keys.js'
import { beginLog, findOrMakeLog, makeSecret, proveRoom, touch } from './tables/meta.js'
import { removeReader, takeReader } from './tables/readers.js'
import type { WriterAnswer, WriterData, WriterRequest, WriterTasks } from './writer-tasks.js'

const port = parentPort
if (port === null) throw new Error('This module runs as a worker thread.')

const { databasePath, indexDescriptor } = workerData as WriterData
const db = Connection.open(databasePath)
configureWriter(db)
const checkpoints = new Checkpoints(db, databasePath, indexDescriptor, (error) => {
  port.postMessage({ trouble: messageOf(error) } satisfies WriterAnswer)
})

const tasks: WriterTasks = {
  commit: (group) => commitMutations(db, mutationsOf(group)),
  openLog: () => {
    const log = findOrMakeLog(db)
    return { log, next_index: nextLogIndex(db, log) }
  },
  leaveLog: () => beginLog(db),
  saveKeyUses: (uses) => saveKeyUses(db, uses),
  purgeIdempotency: (now) => purgeIdempotency(db, now),
  removeDecisions: (decisions, now) => removeDecisions(db, decisions, now),
  takeReader: (name) => takeReader(db, name),
  saveBatch: (batch) => saveBatch(db, JSON.parse(batch)),
  removeReader: (name) => removeReader(db, name),
  addDeliveries: (deliveries) => db.transaction(() => addDeliveries(db, JSON.parse(deliveries))),
  updateDeliveries: (deliveries) => updateDeliveries(db, JSON.parse(deliveries)),
  removeDeliveries: (webhookId, before) => removeDeliveries(db, webhookId, before),
  removeCounts: (series, beforeMs) => removeCounts(db, series, beforeMs),
  makeSecret: (name) => makeSecret(db, name),
  touch: () => touch(db),
  proveRoom: () => proveRoom(db),
  close: () => checkpoints.last(),
}

let isOver = false

port.on('message', (request: WriterRequest) => {
  if (isOver) return
  const answer = perform(request)
  isOver = 'failure' in answer || request.task === 'close'
  if (isOver) db.close()
  port.postMessage(answer)
  if (!isOver) checkpoints.whenDue()
  if (isOver) port.close()
})

function perform({ number, task, parameters }: WriterRequest): WriterAnswer {
  try {
    return { number, result: (tasks[task] as (...parameters: readonly unknown[]) => unknown)(...parameters) }
  } catch (error) {
    return { number, failure: { message: messageOf(error), code: sqliteCode(error) } }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
