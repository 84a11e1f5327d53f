/**
 * Durable records in a second: the embedded store beside a bare file that is appended to and synced, one at a time and
 * with 20 and 64 waiting (all that wait leave together). Both take turns in each round, and ratios are taken inside a round,
 * so that a busy machine and its disk slow them alike. Also the CPU that a decision takes the main thread and all others (the
 * writer is nearly all of them), and the longest gap between two turns of the event loop meanwhile.
 * Run: node bench/store.mjs
 */
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openSqliteStore } from '../server/dist/stores/sqlite/open.js'
import { cpuOf } from './parts/cpu.mjs'

const ROUNDS = 5
/** How many wait, and how many groups of them are measured in a round. */
const SIZES = [
  { waiting: 1, groups: 300 },
  { waiting: 20, groups: 100 },
  { waiting: 64, groups: 60 },
]
const START = Date.parse('2026-11-21T10:00:00.000Z')

const instant = (ms) => new Date(START + ms).toISOString()
const idOf = (prefix, number) => `${prefix}_${String(number).padStart(26, '0')}`

/** A decision as it is stored, with its audit entry and its idempotency record. */
function recordOf(log, index) {
  const decision = {
    id: idOf('dec', index),
    version: 1,
    effect: 'allow',
    status: 'authorized',
    reason: null,
    reason_code: 'rule_matched',
    policy_id: idOf('pol', index % 50),
    policy_revision: 1,
    policy_set: 50,
    rule: 0,
    agent_id: `agent:support-${index % 200}`,
    action: 'payment.refund',
    resource: `order:${index}`,
    latency_ms: 0.021,
    evaluated_at: instant(index),
    expires_at: instant(index + 300_000),
    budgets: [],
    postings: [],
    review: null,
    outcome: null,
    advice: null,
    shadow: [],
    request_hash: String(index).padStart(43, 'h'),
    key_id: idOf('key', 1),
    request_id: idOf('req', index),
    holder: null,
    claimed_at: null,
    agent_revision: 1,
    redeemed: null,
    audit: { log, index, leaf: String(index).padStart(43, 'l') },
  }
  return {
    change: {
      kind: 'decision.create',
      decision,
      request: { context: { amount: index, currency: 'EUR' }, salt: 's'.repeat(22) },
      reservation: null,
    },
    entry: {
      id: idOf('aud', index),
      log,
      index,
      at: decision.evaluated_at,
      type: 'decision.created',
      actor: decision.key_id,
      subject: decision.id,
      agent_id: decision.agent_id,
      data: { effect: 'allow', status: 'authorized', request_hash: decision.request_hash },
      leaf: decision.audit.leaf,
    },
    idempotency: {
      key_id: decision.key_id,
      operation: 'POST /v1/decisions',
      key: decision.request_id,
      fingerprint: decision.request_hash,
      status: 200,
      subject: decision.id,
      created_at: decision.evaluated_at,
      expires_at: instant(index + 86_400_000),
    },
  }
}

const recordsOf = (log, first, count) => Array.from({ length: count }, (_, offset) => recordOf(log, first + offset))

async function storeIn(directory) {
  const store = await openSqliteStore({ dataDir: directory })
  const { log } = await store.openLog()
  let next = 0
  return {
    make(count) {
      next += count
      return recordsOf(log, next - count, count)
    },
    async write(records) {
      const { written } = await store.commit(records)
      if (written !== records.length) throw new Error('The store refused a record.')
    },
    close: () => store.close(),
  }
}

async function fileIn(directory) {
  const file = await open(join(directory, 'bare.jsonl'), 'a')
  let next = 0
  return {
    make(count) {
      next += count
      return recordsOf('log', next - count, count)
    },
    async write(records) {
      const lines = records.map((record) => `${JSON.stringify(record)}\n`)
      await file.appendFile(lines.join(''))
      await file.datasync()
    },
    close: () => file.close(),
  }
}

/** Groups one after the other, as many as said. */
async function measure({ make, write }, { waiting, groups }) {
  const made = Array.from({ length: groups }, () => make(waiting))
  const gaps = monitorEventLoopDelay({ resolution: 1 })
  gaps.enable()
  const waits = []
  const before = cpuOf(process.pid)
  const started = performance.now()
  for (const records of made) {
    const left = performance.now()
    await write(records)
    waits.push(performance.now() - left)
  }
  const seconds = (performance.now() - started) / 1000
  const after = cpuOf(process.pid)
  gaps.disable()
  const count = groups * waiting
  const mainUs = (after.main - before.main) / count / 1000
  const othersUs = (after.all - before.all) / count / 1000 - mainUs
  return { perSecond: count / seconds, waitMs: median(waits), gapMs: gaps.max / 1e6, mainUs, othersUs }
}

function median(values) {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]
}

function show({ waiting }, rounds) {
  const middle = (of) => median(rounds.map(of))
  const ratios = rounds.map(({ store, file }) => store.perSecond / file.perSecond)
  console.log(
    `${String(waiting).padStart(2)} waiting  store ${middle(({ store }) => store.perSecond)
      .toFixed(0)
      .padStart(6)}/s ` +
      `(wait p50 ${middle(({ store }) => store.waitMs).toFixed(2)} ms, longest gap ${middle(({ store }) => store.gapMs).toFixed(1)} ms, ` +
      `CPU a decision: main ${middle(({ store }) => store.mainUs).toFixed(0)} us, others ${middle(({ store }) => store.othersUs).toFixed(0)} us)  ` +
      `append + fdatasync ${middle(({ file }) => file.perSecond)
        .toFixed(0)
        .padStart(6)}/s ` +
      `(wait p50 ${middle(({ file }) => file.waitMs).toFixed(2)} ms)  ratio ${median(ratios).toFixed(2)}`,
  )
}

const directory = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const [store, file] = [await storeIn(join(directory, 'store')), await fileIn(directory)]
try {
  const rounds = SIZES.map(() => [])
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [i, size] of SIZES.entries())
      rounds[i].push({ store: await measure(store, size), file: await measure(file, size) })
  for (const [i, size] of SIZES.entries()) show(size, rounds[i])
} finally {
  await store.close()
  await file.close()
  await rm(directory, { recursive: true })
}
