/** The writer's thread has the only connection that writes, so that waiting for the disk blocks no other thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
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
import { noteWiped } from './tables/held-requests.js'
import { purgeIdempotency } from './tables/idempotency.js'
import { saveKeyUses } from './tables/keys.js'
import { beginLog, findOrMakeLog, makeSecret, proveRoom, touch } from './tables/meta.js'
import { writeMoveNote } from './tables/move-note.js'
import { removeReader, takeReader } from './tables/readers.js'
import { TaskGate } from './task-gate.js'
import { wipePages } from './wipe/wipe-pages.js'
import type { WriterAnswer, WriterConnection, WriterData, WriterRequest, WriterTasks } from './writer-tasks.js'

const port = parentPort
if (port === null) throw new Error('This module runs as a worker thread.')

const { databasePath, indexDescriptor, gate: numbers } = workerData as WriterData
const gate = new TaskGate(numbers)
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
  together: (several) => db.transaction(() => several.map(([task, ...parameters]) => run(task, parameters))),
  makeSecret: (name) => makeSecret(db, name),
  writeMoveNote: (note) => writeMoveNote(db, note),
  touch: () => touch(db),
  dataVersion: () => db.get('PRAGMA data_version')?.data_version as number,
  proveRoom: () => proveRoom(db),
  wipePages: (from) => wipePages(db, from),
  emptyLog: () => checkpoints.empty(),
  noteWiped: (erased) => noteWiped(db, erased),
  close: () => checkpoints.empty(),
}

/** A failure of these is undone, or leaves the log as it was, and no commit is in doubt: the thread continues. */
const WIPES: ReadonlySet<keyof WriterTasks> = new Set(['wipePages', 'emptyLog'])

let isOver = false

/** @param from the port that received the request */
function take(from: MessagePort, request: WriterRequest): void {
  if (isOver || !gate.enter()) return
  try {
    doTask(from, request)
  } finally {
    gate.leave()
  }
}

function doTask(from: MessagePort, request: WriterRequest): void {
  const answer = perform(request)
  isOver = 'failure' in answer || request.task === 'close'
  if (isOver) db.close()
  // A failure concerns every caller of this thread: none gets another answer.
  for (const one of 'failure' in answer ? ports : [from]) one.postMessage(answer)
  if (!isOver) checkpoints.whenDue()
  // The thread ends when no port is open.
  else for (const one of ports) one.close()
}

const ports = new Set([port])
port.on('message', (message: WriterRequest | WriterConnection) => {
  if (!('connect' in message)) return take(port, message)
  const { connect } = message
  // Messages that had arrived when the port was closed are still delivered.
  if (isOver) return connect.close()
  ports.add(connect)
  connect.on('message', (request: WriterRequest) => take(connect, request))
  connect.on('close', () => ports.delete(connect))
})

gate.leave()

function perform({ number, task, parameters }: WriterRequest): WriterAnswer {
  try {
    return { number, result: run(task, parameters) }
  } catch (error) {
    const code = sqliteCode(error)
    const isTheirs = code === undefined || code.startsWith('SQLITE_CONSTRAINT')
    const isUndone = WIPES.has(task) || (task === 'together' && isTheirs)
    if (isUndone) return { number, undone: messageOf(error) }
    return { number, failure: { message: messageOf(error), code } }
  }
}

function run(task: keyof WriterTasks, parameters: readonly unknown[]): unknown {
  return (tasks[task] as (...parameters: readonly unknown[]) => unknown)(...parameters)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
