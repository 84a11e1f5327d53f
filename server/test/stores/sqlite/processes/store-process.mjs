/**
 * Works on a store in a process of its own, so that it can be killed or run out of disk.
 * Arguments: data directory, records in a group. Commits groups of records without end: decisions that reserve in budget
 * accounts, each settled by the record behind it. Each line of standard output is one event: `open`,
 * `acknowledged <first> <last>` (the commit has resolved), `refused <error> <message>`.
 * After a refused commit it reads back what was acknowledged (`read <count>`), and goes on at the next line of input.
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openSqliteStore } from '#server/stores/sqlite/open'

const [dataDir, groupSize] = [process.argv[2], Number(process.argv[3])]
const INSTANT = '2026-11-21T10:00:00.000Z'

const say = (...words) => writeSync(1, `${words.join(' ')}\n`)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

const idOf = (prefix, number) => `${prefix}_${String(number).padStart(26, '0')}`

const accountOf = (number, agent_id = null) => ({
  policy_id: idOf('pol', number % 3),
  unit: 'eur',
  period: 'total',
  agent_id,
  starts_at: null,
})
const ACCOUNTS = [0, 1, 2].flatMap((number) => [accountOf(number), accountOf(number, 'agent:1')])

/** What the decision at an even index is asked for: more than 64 bits soon. */
function demandsOf(index) {
  const amount = 10n ** 17n * BigInt(index) + 1n
  return [accountOf(index), accountOf(index, 'agent:1')].map((account) => ({ account, amount, limit: null }))
}

/** One in four stays open, one is rejected, two are confirmed: one of them for less than was reserved. */
function settledPosting({ account, amount }, index) {
  const kind = (index >> 1) % 4
  const reserved = kind === 0 ? amount : 0n
  const spent = [0n, 0n, amount, amount - 1n][kind]
  return { account, amount: `${amount}`, reads_amount: true, spent: `${spent}`, reserved: `${reserved}` }
}

function decisionOf(index) {
  return {
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
    postings: demandsOf(index).map(({ account, amount }) => ({
      account,
      amount: `${amount}`,
      reads_amount: true,
      spent: '0',
      reserved: `${amount}`,
    })),
  }
}

function entryOf(log, index, type, subject) {
  return { id: idOf('aud', index), log, index, at: INSTANT, type, subject, agent_id: null }
}

function createRecord(log, index, reservation) {
  const decision = decisionOf(index)
  return {
    change: { kind: 'decision.create', decision, request: { context: { index }, salt: 'salt' }, reservation },
    entry: entryOf(log, index, 'decision.created', decision.id),
    idempotency: {
      key_id: idOf('key', 1),
      operation: 'POST /v1/decisions',
      key: decision.id,
      fingerprint: 'f',
      status: 200,
      subject: decision.id,
      created_at: INSTANT,
      expires_at: '2026-11-22T10:00:00.000Z',
    },
  }
}

/** Settles the decision at the index before. */
function settleRecord(log, index) {
  const before = decisionOf(index - 1)
  const postings = demandsOf(index - 1).map((demand) => settledPosting(demand, index - 1))
  const decision = { ...before, version: 2, status: 'confirmed', postings }
  return {
    change: { kind: 'decision.update', decision, expected_version: 1, reservation: null },
    entry: entryOf(log, index, 'decision.confirmed', decision.id),
    idempotency: null,
  }
}

async function reserve(store, index) {
  const { reservation } = await store.ledger.reserve({
    decision_id: idOf('dec', index),
    version: 0,
    demands: demandsOf(index),
  })
  return reservation
}

async function readBack(store, end) {
  for (let index = 0; index < end; index += 2) {
    if ((await store.decisions.get(idOf('dec', index))) === null) throw new Error(`Decision ${index} is gone.`)
  }
  say('read', end)
}

/** With nothing open the ledger says what is durable. */
async function checkLedger(store) {
  const durable = (await store.accounts.get(ACCOUNTS)).map(({ spent, reserved }) => `${spent} ${reserved}`)
  const balances = (await store.ledger.balances(ACCOUNTS)).map(({ spent, reserved }) => `${spent} ${reserved}`)
  if (durable.join() !== balances.join()) throw new Error(`The ledger says ${balances} where ${durable} is durable.`)
}

/** A group from an index on: creations at even ones, each settled behind it. */
async function commitGroup(store, log, first) {
  const reservations = []
  const records = []
  for (let index = first; index < first + groupSize; index += 1) {
    if (index % 2 === 1) records.push(settleRecord(log, index))
    else {
      reservations.push(await reserve(store, index))
      records.push(createRecord(log, index, reservations.at(-1)))
    }
  }
  try {
    return await store.commit(records)
  } finally {
    for (const reservation of reservations) await store.ledger.release(reservation)
  }
}

/** Commits group after group until one is refused. */
async function commitUntilRefused(store) {
  const { log, next_index: start } = await store.openLog()
  for (let first = start; ; first += groupSize) {
    try {
      const { written, conflict } = await commitGroup(store, log, first)
      if (conflict !== null) throw new Error(`The commit met ${conflict}.`)
      say('acknowledged', first, first + written - 1)
    } catch (error) {
      say('refused', error.name, error.message)
      await checkLedger(store)
      return first
    }
    await checkLedger(store)
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
