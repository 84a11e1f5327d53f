import { SEED, seededRandom } from '@countersign/testkit'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { IdempotencyName } from '../../ports/store/idempotency.js'
import { KnownNames, type StoredNames } from './known-names.js'

const PAGE = 3
const named = (key: string, operation = 'POST /v1/decisions'): IdempotencyName => ({ key_id: 'key_1', operation, key })
const textOf = ({ key_id, operation, key }: IdempotencyName) => JSON.stringify([key_id, operation, key])

/** What is in the database, and what is on its way there. */
class Database implements StoredNames {
  rows: { readonly seq: number; readonly name: IdempotencyName }[] = []
  #written = 0
  underway: IdempotencyName[] = []
  isReadable = true

  async settled() {
    this.land()
  }

  land() {
    this.insert(this.underway)
    this.underway = []
  }

  insert(names: readonly IdempotencyName[]) {
    for (const name of names) {
      this.#written += 1
      this.rows.push({ seq: this.#written, name })
    }
  }

  removeOldest(count: number) {
    this.rows = this.rows.slice(count)
  }

  async read(after: string | null) {
    if (!this.isReadable) throw new Error('unreadable')
    const left = this.rows.filter(({ seq }) => seq > Number(after ?? 0))
    const page = left.slice(0, PAGE)
    return { items: page.map(({ name }) => name), next: left.length > PAGE ? String(page.at(-1)?.seq) : null }
  }

  has(name: IdempotencyName) {
    const all = [...this.rows.map((row) => row.name), ...this.underway]
    return all.some((one) => textOf(one) === textOf(name))
  }
}

let database: Database
let names: KnownNames
beforeEach(() => {
  vi.useFakeTimers()
  database = new Database()
  names = new KnownNames(database, { capacity: 64, pageEveryMs: 10, retryMs: 1000 })
})
afterEach(() => {
  names.close()
  vi.useRealTimers()
})

const write = (name: IdempotencyName) => {
  names.add(name)
  database.underway.push(name)
}
const learnAll = async () => {
  names.isCertainlyNew(named('first look'))
  await vi.advanceTimersByTimeAsync(500)
}

test('no name is new until those of earlier processes are read', async () => {
  database.insert(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((key) => named(key)))
  expect(names.isCertainlyNew(named('x'))).toBe(false)
  await vi.advanceTimersByTimeAsync(15)
  expect(names.isCertainlyNew(named('x'))).toBe(false)
  await learnAll()
  expect(names.isCertainlyNew(named('x'))).toBe(true)
  expect(names.isCertainlyNew(named('g'))).toBe(false)
})

test('all parts of a name count, and where they end', async () => {
  await learnAll()
  write({ key_id: 'ab', operation: 'c', key: 'd' })
  expect(names.isCertainlyNew({ key_id: 'a', operation: 'bc', key: 'd' })).toBe(true)
  expect(names.isCertainlyNew({ key_id: 'ab', operation: 'cd', key: '' })).toBe(true)
  expect(names.isCertainlyNew({ key_id: 'ab', operation: 'c', key: 'd' })).toBe(false)
})

test('when names cannot be read, none is new until they can', async () => {
  database.isReadable = false
  await learnAll()
  expect(names.isCertainlyNew(named('x'))).toBe(false)
  database.isReadable = true
  await vi.advanceTimersByTimeAsync(2000)
  expect(names.isCertainlyNew(named('x'))).toBe(true)
})

test('more names than it holds make none new, until some are removed', async () => {
  database.insert(Array.from({ length: 65 }, (_, n) => named(`old ${n}`)))
  await learnAll()
  expect(names.isCertainlyNew(named('x'))).toBe(false)
  database.removeOldest(40)
  await vi.advanceTimersByTimeAsync(2000)
  expect(names.isCertainlyNew(named('x'))).toBe(true)
  expect(names.isCertainlyNew(named('old 64'))).toBe(false)
})

test('when it is full it reads again, and misses none that is on its way', async () => {
  await learnAll()
  const written = Array.from({ length: 65 }, (_, n) => named(`new ${n}`))
  for (const name of written) write(name)
  await vi.advanceTimersByTimeAsync(0)
  for (const name of written) expect(names.isCertainlyNew(name)).toBe(false)
  database.land()
  database.removeOldest(20)
  await learnAll()
  expect(written.map((name) => names.isCertainlyNew(name))).toEqual(written.map((_, n) => n < 20))
})

test('a closed one reads nothing, and knows nothing', async () => {
  await learnAll()
  names.close()
  names.add(named('a'))
  expect(names.isCertainlyNew(named('x'))).toBe(false)
})

test(`no name in the database is ever certainly new: SEED=${SEED}`, async () => {
  const random = seededRandom(SEED)
  const pick = (below: number) => Math.floor(random() * below)
  const looks = { new: 0, unsure: 0 }
  for (let step = 0; step < 20_000; step += 1) {
    const name = named(String(pick(400)), pick(2) === 0 ? 'POST /v1/decisions' : 'PUT /v1/agents/a')
    switch (pick(8)) {
      case 0:
        if (database.rows.length + database.underway.length < 50) write(name)
        break
      case 1:
        database.land()
        break
      case 2:
        if (pick(3) === 0) database.removeOldest(pick(database.rows.length + 1))
        break
      case 3:
        database.isReadable = pick(10) > 0
        break
      case 4:
        await vi.advanceTimersByTimeAsync(pick(40))
        break
      default: {
        const isNew = names.isCertainlyNew(name)
        looks[isNew ? 'new' : 'unsure'] += 1
        if (isNew && database.has(name)) expect(name).toBe('not in the database')
      }
    }
  }
  expect(looks.new).toBeGreaterThan(1000)
  expect(looks.unsure).toBeGreaterThan(100)
})
