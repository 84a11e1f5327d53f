/**
 * Opens copies of a data directory, each damaged in one place, in a process of its own, for damage could abort it.
 * Arguments: the data directory, a folder for copies. Each line of input is a damage: `{file, at, xor}` (a byte),
 * `{file, cut}` (the length to which it is cut), `{file, append}` (bytes to add), `{gone}` (a file that is removed), or `{}`. Each is answered by one line:
 * `refused <error> <message>`, or `read <SHA-256 of all that can be read>`.
 */
import { createHash } from 'node:crypto'
import { appendFileSync, cpSync, readFileSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openSqliteStore } from '#server/stores/sqlite/open'

const [original, folder] = process.argv.slice(2)
const NOW = '2026-11-21T10:00:00.000Z'
const READ_AT_ONCE = 200

async function all(list) {
  const items = []
  for (let after = null; ; ) {
    const page = await list({ limit: READ_AT_ONCE, after })
    items.push(...page.items)
    after = page.next
    if (after === null) return items
  }
}

async function readEverything(store) {
  const decisions = await all((page) => store.decisions.list({ agents: null, now: NOW }, page))
  const found = []
  const calls = []
  for (const { decision } of decisions) {
    found.push(await store.decisions.get(decision.id))
    const name = { key_id: 'key_00000000000000000000000001', operation: 'POST /v1/decisions', key: decision.id }
    calls.push(await store.idempotency.get(name, NOW))
  }
  const policies = await all((page) => store.policies.list(page))
  return [
    decisions,
    found,
    calls,
    policies,
    await Promise.all(policies.map(({ id }) => all((page) => store.policies.listRevisions(id, page)))),
    await store.policies.load(),
    await all((page) => store.agents.list(null, page)),
    await store.agents.load(),
    await store.keys.load(),
    [...(await store.keys.loadUses())],
    await all((page) => store.accounts.list({ agents: null }, page)),
    await store.decisions.listOpenReviews(NOW),
    await all((page) => store.audit.list({}, page)),
    await store.secret('cursors'),
    await store.openLog(),
  ]
}

function damage(dataDir, { file, at, xor, cut, append, gone }) {
  if (gone !== undefined) rmSync(join(dataDir, gone))
  if (cut !== undefined) truncateSync(join(dataDir, file), cut)
  if (append !== undefined) appendFileSync(join(dataDir, file), Buffer.alloc(append, 7))
  if (xor === undefined) return
  const content = readFileSync(join(dataDir, file))
  content[at] ^= xor
  writeFileSync(join(dataDir, file), content)
}

async function probe(dataDir) {
  let store
  try {
    store = await openSqliteStore({ dataDir })
  } catch ({ name, message }) {
    return `refused ${name} ${message}`
  }
  try {
    const everything = JSON.stringify(await readEverything(store))
    return `read ${createHash('sha256').update(everything).digest('hex')}`
  } catch ({ name, message, cause }) {
    return `could not read: ${name} ${message} ${cause?.message}`
  } finally {
    await store.close()
  }
}

let number = 0
for await (const line of createInterface({ input: process.stdin })) {
  number += 1
  const dataDir = join(folder, String(number))
  cpSync(original, dataDir, { recursive: true, preserveTimestamps: true })
  damage(dataDir, JSON.parse(line))
  writeSync(1, `${await probe(dataDir)}\n`)
  rmSync(dataDir, { recursive: true })
}
