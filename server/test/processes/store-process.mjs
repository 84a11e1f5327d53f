/**
 * Works on a store in a process of its own, so that it can be killed or run out of disk.
 * Arguments: data directory, records in a group. Commits groups of decisions without end. Each line of standard output is
 * one event: `open`, `acknowledged <first> <last>` (the commit has resolved), `refused <error> <message>`.
 * After a refused commit it reads back what was acknowledged (`read <count>`), and goes on at the next line of input.
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openSqliteStore } from '#server/adapters/store-sqlite/open'

const [dataDir, groupSize] = [process.argv[2], Number(process.argv[3])]
const INSTANT = '2026-11-21T10:00:00.000Z'

const say = (...words) => writeSync(1, `${words.join(' ')}\n`)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

const idOf = (prefix, number) => `${prefix}_${String(number).padStart(26, '0')}`

function recordOf(log, index) {
  const decision = {
    id: idOf('dec', index),
    version: 1,
    status: 'authorized',
    effect: 'allow',
    policy_id: idOf('pol', 1),
    agent_id: `agent:${index % 10}`,
    action: 'payment.refund',
    resource: `order:${index}`,
    evaluated_at: INSTANT,
    expires_at: INSTANT,
    request_hash: `hash-${index}`,
    postings: [],
  }
  const name = { key_id: idOf('key', 1), operation: 'POST /v1/decisions', key: decision.id }
  return {
    change: { kind: 'decision.create', decision, request: { context: { index }, salt: 'salt' }, reservation: null },
    entry: {
      id: idOf('aud', index),
      log,
      index,
      at: INSTANT,
      type: 'decision.created',
      subject: decision.id,
      agent_id: null,
    },
    idempotency: {
      ...name,
      fingerprint: 'f',
      status: 200,
      subject: decision.id,
      created_at: INSTANT,
      expires_at: '2026-11-22T10:00:00.000Z',
    },
  }
}

async function readBack(store, end) {
  for (let index = 0; index < end; index += 1) {
    if ((await store.findDecision(idOf('dec', index))) === null) throw new Error(`Decision ${index} is gone.`)
  }
  say('read', end)
}

/** Commits group after group until one is refused. */
async function commitUntilRefused(store) {
  const { log, next_index: start } = await store.openLog()
  for (let first = start; ; first += groupSize) {
    const records = Array.from({ length: groupSize }, (_, offset) => recordOf(log, first + offset))
    try {
      const { written, conflict } = await store.commit(records)
      if (conflict !== null) throw new Error(`The commit met ${conflict}.`)
      say('acknowledged', first, first + written - 1)
    } catch (error) {
      say('refused', error.name, error.message)
      return first
    }
  }
}

try {
  const store = await openSqliteStore({ dataDir })
  say('open')
  for (;;) {
    const end = await commitUntilRefused(store)
    await readBack(store, end)
    await lines.next()
  }
} catch (error) {
  say('refused', error.name, error.message)
  process.exit(1)
}
