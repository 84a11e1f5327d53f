import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type HeldPlace, MAX_WAITING_PER_KEY, PLACES, Places } from './places.js'

/** Who created each key: `desk` and `shop` are of the first key, `desk-1` and `desk-2` are made by `desk`. */
const CREATORS: Readonly<Record<string, string>> = {
  desk: 'first',
  shop: 'first',
  'desk-1': 'desk',
  'desk-2': 'desk',
}
const lineOf = (keyId: string): string[] => [...(keyId in CREATORS ? lineOf(CREATORS[keyId] as string) : []), keyId]

let places: Places
let held: HeldPlace[]
beforeEach(() => {
  places = new Places(lineOf)
  held = []
})
afterEach(() => {
  vi.useRealTimers()
})

const seeker = (keyId: string, isWanted = () => true, waitMs: number | null = null) => ({ keyId, isWanted, waitMs })

/** Asks for places, and lets those who get one have it. */
async function ask(keyId: string, calls: number, ...more: [isWanted?: () => boolean, waitMs?: number]) {
  for (let i = 0; i < calls; i += 1)
    void places.take(seeker(keyId, ...more)).then(
      (place) => held.push(place),
      () => {},
    )
  await settled()
}
/** Lets go all places that are held now. */
async function letGo(): Promise<void> {
  for (const place of held.splice(0)) place.leave()
  await settled()
}
const settled = () => new Promise((resolve) => setImmediate(resolve))
const holders = () => Object.fromEntries(places.holders)
const waiters = () => Object.fromEntries(places.waiters)

test('a key holds at most half of the places that those of its creator may hold, by its own calls and by those of its keys', async () => {
  await ask('first', 100)
  expect(holders()).toEqual({ first: PLACES / 4 })
  await ask('desk', 100)
  expect(holders()).toEqual({ first: 4, desk: 2 })
  await ask('desk-1', 100)
  await ask('desk-2', 100)
  // Together they have what is left to the keys of `desk`.
  expect(holders()).toEqual({ first: 4, desk: 2, 'desk-1': 1, 'desk-2': 1 })
  expect(waiters()).toEqual({ first: 96, desk: 98, 'desk-1': 99, 'desk-2': 99 })
})

test('a key that creates keys, and keys of these, gains no place by it: another key has its own at once', async () => {
  const made = Array.from({ length: 200 }, (_, i) => `made-${i}`)
  places = new Places((keyId) => {
    const at = made.indexOf(keyId)
    // Half of them in a line, one created by the other, half of them beside each other.
    if (at >= 100) return ['first', 'desk', keyId]
    return at === -1 ? lineOf(keyId) : ['first', 'desk', ...made.slice(0, at + 1)]
  })
  await ask('desk', 100)
  for (const key of made) await ask(key, 3)
  const all = [...places.holders.values()].reduce((sum, count) => sum + count, 0)
  expect(all).toBe(PLACES / 4)
  await ask('shop', 2)
  expect(holders()).toMatchObject({ shop: 2 })
})

test('no key can hold more than half of the places, and several first keys not more than all', async () => {
  await ask('a', 50)
  expect(holders().a).toBeLessThanOrEqual(PLACES / 2)
  for (const key of ['b', 'c', 'd', 'e']) await ask(key, 50)
  expect(holders()).toEqual({ a: 4, b: 4, c: 4, d: 4 })
  // The first place that comes free is for the key that had none.
  held[0]?.leave()
  await settled()
  expect(holders()).toEqual({ a: 3, b: 4, c: 4, d: 4, e: 1 })
})

test('places that come free go to keys in turn, and among those of one creator in turn, too', async () => {
  await ask('desk', 2)
  await ask('desk-1', 3)
  await ask('desk-2', 3)
  expect(holders()).toEqual({ desk: 2, 'desk-1': 1, 'desk-2': 1 })
  await ask('shop', 4)
  const order: string[] = []
  for (let round = 0; round < 4; round += 1) {
    await letGo()
    order.push(Object.keys(holders()).sort().join(' '))
  }
  expect(order[0]).toBe('desk-1 desk-2 shop')
  expect(waiters()).toEqual({})
})

test('who waits for something else holds no place meanwhile, and has one afterwards', async () => {
  let letGo = (): void => {}
  const catchesUp = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const place = await places.take(seeker('desk'))
  const outside = place.outside(() => catchesUp)
  expect(holders()).toEqual({})
  expect(waiters()).toEqual({ desk: 1 })
  await ask('desk', 2)
  letGo()
  await settled()
  expect(holders()).toEqual({ desk: 2 })
  held[0]?.leave()
  await outside
  expect(holders()).toEqual({ desk: 2 })
  place.leave()
  place.leave()
  expect(holders()).toEqual({ desk: 1 })
})

test('those who wait for something else are counted: a key cannot have any number of them', async () => {
  for (let i = 0; i < MAX_WAITING_PER_KEY; i += 1)
    void (await places.take(seeker('desk'))).outside(() => new Promise(() => {}))
  await expect(places.take(seeker('desk'))).rejects.toMatchObject({ code: 'rate_limited' })
  await ask('shop', 1)
  expect(holders()).toEqual({ shop: 1 })
})

test('who has left gets no place, and counts no more', async () => {
  await ask('desk', 2)
  let isThere = true
  await ask('desk', MAX_WAITING_PER_KEY, () => isThere)
  await expect(places.take(seeker('desk'))).rejects.toMatchObject({
    code: 'rate_limited',
    headers: { 'Retry-After': '1' },
    detail: expect.stringContaining('100 long requests of this key'),
  })
  isThere = false
  await ask('desk', 1)
  expect(waiters()).toEqual({ desk: 1 })
  await letGo()
  expect(holders()).toEqual({ desk: 1 })
  isThere = true
  await ask('desk', 1)
  await ask('desk', 1, () => isThere)
  isThere = false
  await letGo()
  expect([holders(), waiters()]).toEqual([{}, {}])
})

test('who waits too long is told what is full, and leaves the queue', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const refusal = async (keyId: string) => {
    const late = expect(places.take(seeker(keyId, () => true, 8000))).rejects
    vi.advanceTimersByTime(8000)
    return late
  }
  await ask('desk', 2)
  await (await refusal('desk')).toMatchObject({
    detail:
      '2 long requests of this key (lists, simulations and the like) are in progress, which is the limit. ' +
      'None of them ended within 8000 ms. Retry in 1 s.',
  })
  await ask('desk-1', 1)
  await ask('desk-2', 1)
  await (await refusal('desk-1')).toMatchObject({
    detail: expect.stringContaining('4 long requests of this key and its related keys '),
  })
  expect(waiters()).toEqual({})
})
