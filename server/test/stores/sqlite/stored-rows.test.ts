/** The writing thread gets texts and stores them as they are: each row is the one that the values themselves would make. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditEntry, JsonObject } from '@countersign/contract'
import { drawsOf } from '@countersign/testkit'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { IdempotencyRecord, StoredDecision } from '#server/ports/store/documents'
import type { Mutation } from '#server/ports/store/store'
import { commitMutations } from '#server/stores/sqlite/commit'
import { Connection } from '#server/stores/sqlite/driver'
import { groupText, mutationsOf } from '#server/stores/sqlite/group-text'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { accountOf, decisionOf, heldIn, idempotencyOf, idOf, instant, updateOf } from '../../store-suite/index.js'

/** Also what no document of ours holds: NUL, line breaks, quotes, halves of characters. */
const odd = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('\0', '\n', '\r', '"', '\\', '\u2028', '\ud800', '\udc00', '𝄞', 'é', '\x7f', "'", ' '),
  }),
)
const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(1e21, 1, 1e-7, -0, 123456789012345680000, 5e-324, 2 ** 53, 0.1 + 0.2),
)
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    odd,
    numbers,
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(odd, tie('value'), { maxKeys: 4 }),
  ),
}))
const context = fc.option(fc.dictionary(odd, json.value, { maxKeys: 4 })) as fc.Arbitrary<JsonObject | null>

interface Drawn {
  readonly text: string
  readonly resource: string | null
  readonly number: number
  readonly context: JsonObject | null
  readonly seconds: number
  readonly amount: bigint
}
const drawn = fc.record({
  text: odd,
  resource: fc.option(odd),
  number: numbers,
  context,
  seconds: fc.integer({ min: -1e9, max: 1e9 }),
  amount: fc.bigInt({ min: 0n, max: 10n ** 40n }),
})

interface Rows {
  readonly decision: StoredDecision
  readonly updated: StoredDecision
  readonly context: JsonObject | null
  readonly entry: AuditEntry
  readonly record: IdempotencyRecord
}

function rowsOf({ text, resource, number, context, seconds, amount }: Drawn, index: number): Rows {
  const decision = decisionOf(index, {
    agent_id: text,
    action: `${text}.a`,
    resource,
    reason: text,
    latency_ms: number,
    evaluated_at: instant(seconds),
    expires_at: instant(seconds + 300),
    postings: [heldIn(accountOf({ unit: text }), amount)],
  })
  return {
    decision,
    updated: updateOf(decision, { status: 'confirmed', expires_at: instant(seconds + 1), reason: `${text}${text}` })
      .decision,
    context,
    entry: {
      id: idOf('aud', index),
      log: text,
      index,
      at: decision.evaluated_at,
      type: 'decision.created',
      actor: null,
      subject: text,
      agent_id: resource,
      data: context ?? {},
      leaf: text,
    },
    record: idempotencyOf(decision.id, { key: `${index}${text}`, fingerprint: text, created_at: instant(seconds) }),
  }
}

function mutationsFor({ decision, updated, context, entry, record }: Rows): readonly Mutation[] {
  return [
    {
      change: { kind: 'decision.create', decision, request: { context, salt: entry.leaf }, reservation: null },
      entry,
      idempotency: record,
    },
    {
      change: { kind: 'decision.update', decision: updated, expected_version: 1, reservation: null },
      entry: null,
      idempotency: null,
    },
  ]
}

/** One statement a row, with the values as they are. */
function insertPlainly(db: Connection, { decision, updated, context, entry, record }: Rows): void {
  const plain = (table: string, row: Readonly<Record<string, string | number | null>>) =>
    db.run(
      `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => '?')})`,
      ...Object.values(row),
    )
  const { id, version, agent_id, action, resource, effect, policy_id, request_hash } = decision
  plain('decisions', {
    ...{ id, version, agent_id, action, resource, effect, policy_id, request_hash },
    at_ms: Date.parse(decision.evaluated_at),
    status: decision.status,
    expires_ms: Date.parse(decision.expires_at),
    document: JSON.stringify(decision),
    request_context: context === null ? null : JSON.stringify(context),
    request_salt: entry.leaf,
  })
  db.run(
    'UPDATE decisions SET version = ?, status = ?, expires_ms = ?, document = ? WHERE id = ?',
    updated.version,
    updated.status,
    Date.parse(updated.expires_at),
    JSON.stringify(updated),
    id,
  )
  plain('audit_entries', {
    ...{ log: entry.log, log_index: entry.index, id: entry.id, at_ms: Date.parse(entry.at), type: entry.type },
    ...{ agent_id: entry.agent_id, subject: entry.subject, document: JSON.stringify(entry) },
  })
  const { created_at, expires_at, ...named } = record
  plain('idempotency', { ...named, created_ms: Date.parse(created_at), expires_ms: Date.parse(expires_at) })
}

/** Each value with its type, byte for byte: a read ends a text at its first NUL. */
function contentOf(db: Connection, table: string) {
  const columns = db.all('SELECT name FROM pragma_table_info(?)', table).map(({ name }) => name)
  const values = columns.map((name) => `typeof(${name}) || ':' || hex(CAST(${name} AS BLOB)) AS ${name}`)
  return db.all(`SELECT ${values} FROM ${table} ORDER BY seq`)
}

it('a group is stored as one statement a row would store it, byte for byte', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'countersign-store-'))
  await (await openSqliteStore({ dataDir })).close()
  const db = Connection.open(join(dataDir, 'countersign.db'))
  try {
    fc.assert(
      fc.property(fc.array(drawn, { minLength: 1, maxLength: 5 }), (all) => {
        const rows = all.map(rowsOf)
        const stored = [writeGroup, writePlainly].map((write) => {
          db.execute('BEGIN')
          write(rows)
          const content = ['decisions', 'audit_entries', 'idempotency'].map((table) => contentOf(db, table))
          db.execute('ROLLBACK')
          return content
        })
        expect(stored[0]).toEqual(stored[1])
        expect(stored[0]?.map((content) => content.length)).toEqual([rows.length, rows.length, rows.length])
      }),
      { numRuns: drawsOf(50) },
    )
  } finally {
    db.close()
    rmSync(dataDir, { recursive: true })
  }

  function writePlainly(rows: readonly Rows[]): void {
    for (const row of rows) insertPlainly(db, row)
  }

  /** Inside of the transaction that is open. */
  function writeGroup(rows: readonly Rows[]): void {
    const inside = new Proxy(db, {
      get: (target, member) =>
        member === 'transaction' ? (work: () => unknown) => work() : Reflect.get(target, member).bind(target),
    })
    const mutations = rows.flatMap(mutationsFor)
    expect(commitMutations(inside, mutationsOf(groupText(mutations)))).toMatchObject({
      written: mutations.length,
      conflict: null,
    })
  }
})
