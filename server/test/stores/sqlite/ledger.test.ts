/** What the embedded store's ledger does between the steps that its port shows: disk and memory as two hands move them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { Balance } from '#server/ports/store/ledger'
import type { Mutation, Store } from '#server/ports/store/store'
import { commitMutations } from '#server/stores/sqlite/commit'
import { Connection } from '#server/stores/sqlite/driver'
import { groupText, mutationsOf } from '#server/stores/sqlite/group-text'
import { SqliteLedger } from '#server/stores/sqlite/ledger'
import { openSqliteStore } from '#server/stores/sqlite/open'
import {
  accountOf,
  createOf,
  decisionOf,
  heldIn,
  idOf,
  LogPen,
  requestOf,
  spentIn,
  updateOf,
} from '../../store-suite/index.js'

const ACCOUNT = accountOf()

function entryOf(index: number): NonNullable<Mutation['entry']> {
  return {
    id: idOf('aud', index),
    log: 'log',
    index,
    at: '2026-11-21T10:00:00.000Z',
    type: 'decision.created',
    actor: null,
    subject: idOf('dec', index),
    agent_id: null,
    data: {},
    leaf: 'leaf',
  }
}

/** A new decision that holds `amount`. */
function holding(number: number, amount: bigint, reservation: string | null): Mutation {
  const decision = decisionOf(number, { postings: [heldIn(ACCOUNT, amount)] })
  return { change: createOf(decision, requestOf(number), reservation), entry: entryOf(number), idempotency: null }
}

/** As the writing thread does it. */
function makeDurable(db: Connection, mutations: readonly Mutation[]) {
  return commitMutations(db, mutationsOf(groupText(mutations)))
}

function held(reserved: bigint): Balance {
  return { spent: 0n, reserved }
}

describe('the ledger of the embedded store', () => {
  let dataDir: string
  let db: Connection
  let ledger: SqliteLedger
  let reads: number
  let fault: Error | null

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'countersign-store-'))
    await (await openSqliteStore({ dataDir })).close()
    db = Connection.open(join(dataDir, 'countersign.db'))
    reads = 0
    fault = null
    ledger = new SqliteLedger((read) => {
      if (fault !== null) throw fault
      const counting = new Proxy(db, {
        get(target, member) {
          reads += 1
          return target[member as 'get'].bind(target)
        },
      })
      return read(counting)
    })
  })
  afterEach(() => {
    db.close()
    rmSync(dataDir, { recursive: true })
  })

  async function reserve(amount: bigint, account = ACCOUNT): Promise<string> {
    const demands = [{ account, amount, limit: null }]
    const { reservation } = await ledger.reserve({ decision_id: idOf('dec', 1), version: 0, demands })
    return reservation as string
  }
  const balance = async () => (await ledger.balances([ACCOUNT]))[0]

  /** What the store does around a commit, with a look at the balance in between. */
  async function commit(...records: readonly Mutation[]): Promise<Balance | undefined> {
    ledger.expect(records)
    const { written, accounts } = makeDurable(db, records)
    const meanwhile = await balance()
    ledger.takeOver(records.slice(0, written), accounts)
    return meanwhile
  }

  it('counts a decision once while it is on the disk and its answer is on the way', async () => {
    expect(await commit(holding(1, 5n, await reserve(5n)))).toEqual(held(5n))
    expect(await balance()).toEqual(held(5n))
  })

  it('counts it once also when the totals were forgotten after it was reserved', async () => {
    const reservation = await reserve(5n)
    ledger.doubt([])
    expect(await commit(holding(1, 5n, reservation))).toEqual(held(5n))
    expect(await balance()).toEqual(held(5n))
  })

  it('counts it once however many accounts are looked at meanwhile', async () => {
    const reservation = await reserve(5n)
    const others = [...Array(12_000).keys()].map((number) => accountOf({ agent_id: `agent:${number}` }))
    await ledger.balances(others)
    const record = holding(1, 5n, reservation)
    ledger.expect([record])
    const { accounts } = makeDurable(db, [record])
    await ledger.balances(others)
    expect(await balance()).toEqual(held(5n))
    ledger.takeOver([record], accounts)
    await ledger.balances(others)
    expect(await balance()).toEqual(held(5n))
  })

  it('remembers accounts, the lately used ones at least, and not without end', async () => {
    const accounts = [...Array(12_000).keys()].map((number) => accountOf({ agent_id: `agent:${number}` }))
    const readsOf = async (asked: typeof accounts) => {
      reads = 0
      await ledger.balances(asked)
      return reads
    }
    const [first, others, last] = [accounts.slice(0, 1), accounts.slice(1, -1), accounts.slice(-1)]
    for (const part of [first, others.slice(0, 6000), first, others.slice(6000), last]) await readsOf(part)
    expect(await readsOf(last)).toBe(0)
    expect(await readsOf(first)).toBe(0)
    expect(await readsOf(others.slice(0, 1))).toBe(1)
    expect(await readsOf(accounts)).toBeGreaterThanOrEqual(2000)
  })

  it('finds a rejected commit on the disk, and counts it by its postings alone', async () => {
    const [lost, open] = [await reserve(5n), await reserve(2n)]
    const record = holding(1, 5n, lost)
    ledger.expect([record])
    makeDurable(db, [record])
    ledger.doubt([record])
    expect(await balance()).toEqual(held(7n))
    await ledger.release(lost)
    expect(await balance()).toEqual(held(7n))
    await ledger.release(open)
    expect(await balance()).toEqual(held(5n))
  })

  it('finds a rejected commit not on the disk, and counts its reservations until they are released', async () => {
    const lost = await reserve(5n)
    const record = holding(1, 5n, lost)
    makeDurable(db, [{ ...holding(2, 1n, null), entry: entryOf(2) }])
    ledger.expect([record])
    ledger.doubt([record])
    expect(await balance()).toEqual(held(6n))
    await ledger.release(lost)
    expect(await balance()).toEqual(held(1n))
  })

  it('takes no entry of another writer at the same index for its own', async () => {
    const reservation = await reserve(5n)
    const record = holding(1, 5n, reservation)
    makeDurable(db, [{ change: { kind: 'entry.only' }, entry: { ...entryOf(1), id: 'aud_other' }, idempotency: null }])
    ledger.doubt([record])
    expect(await balance()).toEqual(held(5n))
  })

  it('reads again after a rejected commit what moved without a reservation', async () => {
    const record = holding(1, 5n, null)
    expect(await balance()).toEqual(held(0n))
    const other = await reserve(1n, accountOf({ unit: 'usd' }))
    makeDurable(db, [record])
    expect(await balance()).toEqual(held(0n))
    ledger.doubt([record])
    expect(await balance()).toEqual(held(5n))
    await ledger.release(other)
  })

  it('reserves nothing, in no account, while the disk cannot be read', async () => {
    await reserve(5n)
    ledger.doubt([])
    fault = new StoreUnavailableError('The disk is gone.')
    await expect(reserve(1n)).rejects.toThrow(StoreUnavailableError)
    expect(() => ledger.expect([])).toThrow(StoreUnavailableError)
    ledger.doubt([])
    await expect(ledger.balances([ACCOUNT])).rejects.toThrow(StoreUnavailableError)
    fault = null
    expect(await balance()).toEqual(held(5n))
  })
})

describe('the embedded store after a commit that failed', () => {
  let dataDir: string
  let store: Store
  let pen: LogPen

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'countersign-store-'))
    store = await openSqliteStore({ dataDir })
    pen = await LogPen.of(store)
  })
  afterEach(async () => {
    await store.close()
    rmSync(dataDir, { recursive: true })
  })

  const balance = async () => (await store.ledger.balances([ACCOUNT]))[0]
  const reserve = (number: number, amount: bigint, limit: bigint | null = null) => {
    const demands = [{ account: ACCOUNT, amount, limit }]
    return store.ledger.reserve({ decision_id: idOf('dec', number), version: 0, demands })
  }
  /** What no caller of the port can make: it fails inside the writer's transaction. */
  const broken: Mutation = {
    change: { kind: 'entry.only' },
    entry: { ...entryOf(999), subject: null as never },
    idempotency: null,
  }

  it('holds what was reserved until it is released, and counts nothing of the group', async () => {
    const first = decisionOf(1, { postings: [heldIn(ACCOUNT, 10n)] })
    await pen.commit(createOf(first))
    const { reservation } = await reserve(2, 5n, 15n)
    const group = pen.seal([
      { change: updateOf(first, { status: 'confirmed', postings: [spentIn(ACCOUNT, 10n, 3n)] }) },
      { change: createOf(decisionOf(2, { postings: [heldIn(ACCOUNT, 5n)] }), requestOf(2), reservation) },
    ])
    await expect(store.commit([...group, broken])).rejects.toThrow(StoreUnavailableError)
    expect(await balance()).toEqual(held(15n))
    expect((await reserve(3, 1n, 15n)).reservation).toBeNull()
    await expect(store.commit(group)).rejects.toThrow(StoreUnavailableError)
    await store.openLog()
    expect(await store.commit(group)).toEqual({ written: 2, conflict: null })
    expect(await balance()).toEqual({ spent: 3n, reserved: 5n })
    await store.ledger.release(reservation as string)
    expect(await balance()).toEqual({ spent: 3n, reserved: 5n })
    await store.close()
    store = await openSqliteStore({ dataDir })
    expect(await balance()).toEqual({ spent: 3n, reserved: 5n })
  })

  it('counts what of it is on the disk all the same, once', async () => {
    const [standing, open] = [(await reserve(1, 10n)).reservation, (await reserve(2, 4n)).reservation]
    const decision = decisionOf(1, { postings: [heldIn(ACCOUNT, 10n)] })
    const group = pen.seal([{ change: createOf(decision, requestOf(1), standing) }])
    const db = Connection.open(join(dataDir, 'countersign.db'))
    makeDurable(db, group)
    db.close()
    expect(await balance()).toEqual(held(14n))
    await expect(store.commit([broken, ...group])).rejects.toThrow(StoreUnavailableError)
    expect(await balance()).toEqual(held(14n))
    for (const reservation of [standing, open]) await store.ledger.release(reservation as string)
    expect(await balance()).toEqual(held(10n))
  })

  it('counts the next record once while it is on the disk and its answer is on the way', async () => {
    const { reservation } = await reserve(1, 10n)
    await expect(store.commit([broken])).rejects.toThrow(StoreUnavailableError)
    await store.openLog()
    const decision = decisionOf(1, { postings: [heldIn(ACCOUNT, 10n)] })
    const written = pen.commit(createOf(decision, requestOf(1), reservation))
    const db = Connection.openReadOnly(join(dataDir, 'countersign.db'))
    // Nothing else runs in this thread meanwhile: the writer's answer waits until the balance was asked for.
    const deadline = performance.now() + 10_000
    while (db.get('SELECT 1 FROM decisions') === undefined) expect(performance.now()).toBeLessThan(deadline)
    db.close()
    expect(await balance()).toEqual(held(10n))
    expect(await written).toEqual({ written: 1, conflict: null })
    expect(await balance()).toEqual(held(10n))
  })
})
