/**
 * Durable records in a second: the embedded store beside a bare file that is appended to and synced, one at a time and
 * with 64 waiting (all that wait leave together). Both take turns in each round, and ratios are taken inside a round, so
 * that a busy machine and its disk slow them alike. Also the longest gap between two turns of the event loop meanwhile.
 * Run: node bench/store.mjs
 */
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openSqliteStore } from '@countersign/store-sqlite/open'

const ROUNDS = 5
const WAITING = 64
const SINGLES = 300
const GROUPS = 60
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
    async write(count) {
      const { written } = await store.commit(recordsOf(log, next, count))
      next += count
      if (written !== count) throw new Error('The store refused a record.')
    },
    close: () => store.close(),
  }
}

async function fileIn(directory) {
  const file = await open(join(directory, 'bare.jsonl'), 'a')
  let next = 0
  return {
    async write(count) {
      const lines = recordsOf('log', next, count).map((record) => `${JSON.stringify(record)}\n`)
      next += count
      await file.appendFile(lines.join(''))
      await file.datasync()
    },
    close: () => file.close(),
  }
}

/** Groups one after the other, as many as said. */
async function measure({ write }, groups, groupSize) {
  const gaps = monitorEventLoopDelay({ resolution: 1 })
  gaps.enable()
  const waits = []
  const started = performance.now()
  for (let group = 0; group < groups; group += 1) {
    const left = performance.now()
    await write(groupSize)
    waits.push(performance.now() - left)
  }
  const seconds = (performance.now() - started) / 1000
  gaps.disable()
  return { perSecond: (groups * groupSize) / seconds, waitMs: median(waits), gapMs: gaps.max / 1e6 }
}

function median(values) {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]
}

function show(name, rounds) {
  const middle = (of) => median(rounds.map(of))
  const ratios = rounds.map(({ store, file }) => store.perSecond / file.perSecond)
  console.log(
    `${name.padEnd(16)} store ${middle(({ store }) => store.perSecond)
      .toFixed(0)
      .padStart(6)}/s ` +
      `(wait p50 ${middle(({ store }) => store.waitMs).toFixed(2)} ms, longest gap ${middle(({ store }) => store.gapMs).toFixed(1)} ms)  ` +
      `append + fdatasync ${middle(({ file }) => file.perSecond)
        .toFixed(0)
        .padStart(6)}/s ` +
      `(wait p50 ${middle(({ file }) => file.waitMs).toFixed(2)} ms)  ratio ${median(ratios).toFixed(2)}`,
  )
}

const directory = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const [store, file] = [await storeIn(join(directory, 'store')), await fileIn(directory)]
try {
  const [singles, groups] = [[], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    singles.push({ store: await measure(store, SINGLES, 1), file: await measure(file, SINGLES, 1) })
    groups.push({ store: await measure(store, GROUPS, WAITING), file: await measure(file, GROUPS, WAITING) })
  }
  show('one at a time', singles)
  show(`${WAITING} waiting`, groups)
} finally {
  await store.close()
  await file.close()
  await rm(directory, { recursive: true })
}
