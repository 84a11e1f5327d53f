import type { LiveEvent, LiveType } from '@countersign/contract'
import { drawsOf, seededRandom } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DomainError } from '../domain-error.js'
import type { LivePage, LiveSource } from '../ports/live-page.js'
import type { LogPosition } from '../ports/store/audit.js'
import type { StoredKey } from '../ports/store/documents.js'
import type { Positions } from '../ports/store/feed.js'
import { LiveEvents } from './live-events.js'
import type { LiveFilter, LiveStream } from './live-stream.js'

const AT = '2026-11-21T10:00:00.000Z'
const KEY: StoredKey = {
  id: 'key_1',
  version: 1,
  name: 'k',
  scopes: ['decisions:read'],
  agents: null,
  created_at: AT,
  created_by: null,
  expires_at: null,
  revoked_at: null,
  secrets: [],
}

interface ToldEvent {
  readonly type: LiveType
  readonly agent_id: string
  readonly note?: string
  readonly resource?: string
}
/** What an entry tells; null: nothing live. */
type Told = ToldEvent | { readonly erases: string } | null

/** Logs that a test writes. Reads find the entries of several logs in any order. */
class ScriptedLogs implements LiveSource {
  readonly logs: Record<string, Told[]> = {}
  reads: { readonly from: Positions | null; readonly limit: number }[] = []
  /** How many entries a read finds at most, whatever its limit. */
  most = Number.POSITIVE_INFINITY
  /** Which of a number of logs comes next. */
  pick: (logs: number) => number = () => 0
  /** Awaited by each read, before it looks at the logs and after. */
  hold: () => Promise<void> | undefined = () => undefined
  failure: Error | null = null

  append(log: string, ...entries: Told[]): void {
    this.logs[log] = [...(this.logs[log] ?? []), ...entries]
  }

  get end(): Positions {
    return Object.fromEntries(Object.entries(this.logs).map(([log, entries]) => [log, entries.length]))
  }

  async readEvents(from: Positions | null, limit: number): Promise<LivePage> {
    this.reads.push({ from, limit })
    await this.hold()
    if (this.failure !== null) throw this.failure
    const page = from === null ? { events: [], erased: [], positions: this.end } : this.page(from, limit)
    await this.hold()
    return page
  }

  private page(from: Positions, limit: number): LivePage {
    const positions = { ...from }
    const events: LivePage['events'][number][] = []
    const erased: LivePage['erased'][number][] = []
    for (let left = Math.min(limit, this.most); left > 0; left -= 1) {
      const unread = Object.keys(this.logs).filter((log) => (positions[log] ?? 0) < (this.logs[log] ?? []).length)
      if (unread.length === 0) break
      const log = unread[this.pick(unread.length)] as string
      const index = positions[log] ?? 0
      positions[log] = index + 1
      const told = this.logs[log]?.[index] ?? null
      if (told !== null && 'erases' in told) erased.push({ decision_id: told.erases, erased_at: AT })
      else if (told !== null) events.push({ event: eventOf(log, index, told), log, index, positions: { ...positions } })
    }
    return { events, erased, positions }
  }
}

function eventOf(log: string, index: number, { type, agent_id, note = '', resource }: ToldEvent): LiveEvent {
  const fixed = { action: 'a.b', effect: 'allow', status: 'authorized' }
  const data = { id: `${log}${index}`, agent_id, ...fixed, reason: note, resource: resource ?? null }
  return { type, timestamp: AT, sequence: index, data } as unknown as LiveEvent
}

interface Heard {
  readonly id: string | null
  readonly event: string | null
  /** The id of the decision. */
  readonly of: string | null
}

/** A connection that takes a chunk when the test says so. */
class Reader {
  readonly blocks: Heard[] = []
  chunks = 0
  hasEnded = false
  private readonly chunksOf: AsyncGenerator<Uint8Array>
  private isWaiting = false

  constructor(
    readonly stream: LiveStream,
    readonly leave: () => void,
  ) {
    this.chunksOf = stream.chunks()
  }

  /** Asks for the next chunk, unless it waits for one. */
  take(): void {
    if (this.isWaiting || this.hasEnded) return
    this.isWaiting = true
    void this.chunksOf.next().then(({ value, done }) => {
      this.isWaiting = false
      if (done) this.hasEnded = true
      else this.hear(Buffer.from(value).toString())
    })
  }

  /** Takes all that there is. */
  async takeAll(): Promise<void> {
    for (let before = -1; before !== this.chunks; ) {
      before = this.chunks
      this.take()
      await vi.advanceTimersByTimeAsync(0)
    }
  }

  get events(): (string | null)[] {
    return this.blocks.flatMap(({ event, of }) => (event === null ? [] : [of]))
  }

  get lastId(): string | null {
    return this.blocks.reduce<string | null>((last, { id }) => id ?? last, null)
  }

  private hear(text: string): void {
    this.chunks += 1
    expect(text.endsWith('\n\n')).toBe(true)
    for (const block of text.slice(0, -2).split('\n\n')) {
      const fieldOf = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? null
      const data = fieldOf('data')
      this.blocks.push({
        id: fieldOf('id'),
        event: fieldOf('event'),
        of: data === null ? null : JSON.parse(data).data.id,
      })
    }
  }
}

let source: ScriptedLogs
let live: LiveEvents
let logged: string[]
let caller: () => { readonly key: StoredKey }

const seal = (positions: Positions) => JSON.stringify(positions)
const log = {
  info: (_: object, message: string) => void logged.push(message),
  warn: () => {},
  error: (_: object, message: string) => void logged.push(message),
}

/** Entries that the source does not show yet, as a MongoDB server that has just become the primary. */
let others: LogPosition[] = []
const hasEntry = async ({ log, index }: LogPosition) =>
  others.some((other) => other.log === log && other.index === index)

interface ReaderOptions {
  readonly from?: Positions | null
  readonly filter?: LiveFilter
  readonly keyId?: string
}

async function open({ from = null, filter = {}, keyId = KEY.id }: ReaderOptions = {}): Promise<Reader> {
  const left = new AbortController()
  const callerNow = () => caller()
  const stream = await live.open({ keyId, callerNow, filter, from, signal: left.signal })
  return new Reader(stream, () => left.abort())
}

/** One that has heard that it is connected. */
async function connected(options: ReaderOptions = {}): Promise<Reader> {
  const reader = await open(options)
  await reader.takeAll()
  return reader
}

const CREATED: Told = { type: 'decision.created', agent_id: 'agent:a' }
const CONFIRMED: Told = { type: 'decision.confirmed', agent_id: 'agent:a' }
const OF_B: Told = { type: 'decision.created', agent_id: 'agent:b' }

beforeEach(() => {
  vi.useFakeTimers()
  source = new ScriptedLogs()
  logged = []
  others = []
  caller = () => ({ key: KEY })
  live = new LiveEvents({ source, seal, log, hasEntry })
})
afterEach(() => void vi.useRealTimers())

const passes = (ms: number) => vi.advanceTimersByTimeAsync(ms)

function written(log: string, ...entries: Told[]): void {
  source.append(log, ...entries)
  live.wake()
}

describe('a stream', () => {
  it('says at once that it is connected, and from where it goes on', async () => {
    source.append('A', CREATED, null)
    const reader = await connected()
    expect(reader.blocks).toEqual([{ id: '{"A":2}', event: null, of: null }])
  })

  it('has what happens from then on, each event with the id to go on from', async () => {
    source.append('A', CREATED)
    const reader = await connected()
    written('A', CREATED, null, CONFIRMED)
    await passes(100)
    await reader.takeAll()
    expect(reader.blocks.slice(1)).toEqual([
      { id: '{"A":2}', event: 'decision.created', of: 'A1' },
      { id: '{"A":4}', event: 'decision.confirmed', of: 'A3' },
    ])
  })

  it('goes on behind the positions that it is given', async () => {
    source.append('A', CREATED, CREATED, CREATED)
    source.append('B', CREATED)
    const reader = await connected({ from: { A: 1 } })
    expect(reader.events.sort()).toEqual(['A1', 'A2', 'B0'])
    written('A', CREATED)
    await passes(100)
    await reader.takeAll()
    expect(reader.events.slice(3)).toEqual(['A3'])
  })

  it.each<[string, LiveFilter, string[]]>([
    ['an agent', { agent_id: 'agent:b' }, ['A1']],
    ['a type', { types: new Set<LiveType>(['decision.confirmed']) }, ['A2']],
    ['several types', { types: new Set<LiveType>(['decision.confirmed', 'decision.created']) }, ['A0', 'A1', 'A2']],
    ['an agent and a type', { agent_id: 'agent:b', types: new Set<LiveType>(['decision.confirmed']) }, []],
    ['what nothing has', { action: 'other' }, []],
  ])('has only the events of its filter: %s', async (_, filter, expected) => {
    const [reader, later] = [await connected({ filter }), await connected({ filter, from: {} })]
    written('A', CREATED, OF_B, CONFIRMED)
    await passes(100)
    await reader.takeAll()
    await later.takeAll()
    expect([reader.events, later.events]).toEqual([expected, expected])
    const resumed = await connected({ filter, from: {} })
    expect(resumed.events).toEqual(expected)
  })

  it('of a key that is bound to agents has only theirs, as the key is now', async () => {
    caller = () => ({ key: { ...KEY, agents: ['agent:b*'] } })
    const reader = await connected()
    written('A', CREATED, OF_B)
    await passes(100)
    await reader.takeAll()
    expect(reader.events).toEqual(['A1'])
    expect((await connected({ from: {} })).events).toEqual(['A1'])
  })

  it('is told each 15 s that the server is there, and how far it has come', async () => {
    const reader = await connected({ filter: { agent_id: 'agent:b' } })
    written('A', CREATED)
    await passes(15_000)
    await reader.takeAll()
    expect(reader.blocks.slice(1)).toEqual([{ id: '{"A":1}', event: null, of: null }])
    await passes(15_000)
    await reader.takeAll()
    expect(reader.blocks.slice(2)).toEqual([{ id: '{"A":1}', event: null, of: null }])
    expect(reader.lastId).toBe('{"A":1}')
  })

  it('says how far it has come while it passes over a long past without anything for its reader', async () => {
    source.append('A', ...Array.from({ length: 2000 }, () => CREATED))
    const reader = await open({ from: {}, filter: { agent_id: 'agent:b' } })
    source.hold = () => new Promise((resolve) => setTimeout(resolve, 300))
    for (let i = 0; i < 100; i++) {
      reader.take()
      await passes(200)
    }
    expect(reader.events).toEqual([])
    expect(reader.blocks.length).toBeGreaterThan(5)
    expect(JSON.parse(reader.lastId as string).A).toBeGreaterThanOrEqual(1500)
  })

  it('waits for a source that fails, and goes on', async () => {
    const reader = await connected()
    source.failure = new Error('away')
    written('A', CREATED)
    await passes(3000)
    await reader.takeAll()
    expect(reader.events).toEqual([])
    expect(logged).toEqual(['live events could not be read; streams continue when they can'])
    source.failure = null
    await passes(1000)
    await reader.takeAll()
    expect(reader.events).toEqual(['A0'])
  })

  it('is refused to a reader who knows of more than there is: the store was set back', async () => {
    source.append('A', CREATED)
    await expect(open({ from: { A: 2 } })).rejects.toMatchObject({ code: 'invalid_cursor' })
    expect((await connected({ from: { A: 1, gone: 7 } })).events).toEqual([])
  })

  it('is not refused to a reader who knows an entry that the source does not show yet', async () => {
    source.append('A', CREATED)
    others.push({ log: 'A', index: 1 })
    const reader = await connected({ from: { A: 2 } })
    await reader.takeAll()
    expect(reader.events).toEqual([])
    written('A', CREATED, CREATED)
    await passes(100)
    await reader.takeAll()
    expect(reader.events).toEqual(['A2'])
  })

  it('is refused while the end of the logs cannot be read', async () => {
    source.failure = new Error('away')
    await expect(open()).rejects.toThrow('away')
    source.failure = null
    source.hold = () => new Promise(() => {})
    const refused = expect(open()).rejects.toThrow('within 8000 ms')
    await passes(8000)
    await refused
  })
})

describe('a request that is erased', () => {
  const HELD: Told = { ...CREATED, resource: 'order:secret' }
  const textsOf = async (filter: LiveFilter = {}) => {
    const chunks = (await open({ from: {}, filter })).stream.chunks()
    const texts: string[] = []
    for (let i = 0; i < 2; i += 1) {
      const next = chunks.next()
      await passes(0)
      texts.push(Buffer.from((await next).value as Uint8Array).toString())
    }
    return texts.join('')
  }

  it.each(['by this process', 'by another one'])('is in no event that the ring keeps: %s', async (whose) => {
    const reader = await connected()
    written('A', HELD, OF_B, { ...HELD, resource: 'order:kept' })
    await passes(100)
    await reader.takeAll()
    const before = await textsOf()
    expect(before).toContain('order:secret')
    if (whose === 'by this process') live.forget([{ id: 'A0', request_erased_at: AT }])
    else written('A', { erases: 'A0' })
    await passes(100)
    const fields = `"resource":null,"request_hash":null,"request_erased_at":"${AT}"`
    const expected = before.replace('"resource":"order:secret"', fields)
    // The other events, and all ids, are as they were.
    expect(await textsOf()).toBe(expected)
    expect(await textsOf({ resource: 'order:kept' })).not.toMatch(/A0|secret/)
  })
})

describe('the end of the logs', () => {
  it('is read once for all streams, the first time at once and then each 100 ms', async () => {
    const readers = await Promise.all(Array.from({ length: 50 }, () => connected()))
    source.reads = []
    await passes(500)
    const idle = source.reads.length
    expect(idle).toBeLessThanOrEqual(1)
    for (let i = 0; i < 50; i++) {
      written('A', CREATED)
      await passes(10)
      if (i === 0) {
        for (const reader of readers) await reader.takeAll()
        expect(readers.map(({ events }) => events)).toEqual(readers.map(() => ['A0']))
      }
    }
    expect(source.reads.length - idle).toBeLessThanOrEqual(7)
    await passes(100)
    for (const reader of readers) await reader.takeAll()
    expect(readers.every(({ events }) => events.length === 50)).toBe(true)
    // One write for each read that found something.
    expect(Math.max(...readers.map(({ chunks }) => chunks))).toBeLessThanOrEqual(8)
  })

  it('is looked at each second without being woken: other processes write, too', async () => {
    const reader = await connected()
    source.append('B', CREATED)
    await passes(1100)
    await reader.takeAll()
    expect(reader.events).toEqual(['B0'])
  })

  it('is read while there are streams, and not when the last has left', async () => {
    live.wake()
    await passes(5000)
    expect(source.reads).toEqual([])
    const reader = await connected()
    reader.leave()
    await passes(0)
    source.reads = []
    live.wake()
    await passes(5000)
    expect(source.reads).toEqual([])
    expect([reader.hasEnded, live.size, vi.getTimerCount()]).toEqual([true, 0, 0])
  })

  it('is read on without a pause while there is much', async () => {
    const reader = await connected()
    written('A', ...Array.from({ length: 1000 }, () => CREATED))
    await passes(100)
    await reader.takeAll()
    expect(reader.events).toHaveLength(1000)
  })

  it('is read in one piece at a time for streams that are behind: the rest of the feed has its turn', async () => {
    source.append('A', ...Array.from({ length: 1000 }, () => CREATED))
    let pages = 0
    let most = 0
    const readEvents = source.readEvents.bind(source)
    source.readEvents = async (from, limit) => {
      if (from?.A === 1000 || from === null) return readEvents(from, limit)
      pages += 1
      most = Math.max(most, pages)
      await new Promise((resolve) => setTimeout(resolve, 10))
      pages -= 1
      return readEvents(from, limit)
    }
    const readers = await Promise.all(Array.from({ length: 20 }, () => open({ from: {} })))
    for (let round = 0; round < 200 && readers.some(({ events }) => events.length < 1000); round += 1) {
      for (const reader of readers) reader.take()
      await passes(100)
    }
    expect(readers.map(({ events }) => events.length)).toEqual(readers.map(() => 1000))
    expect(most).toBe(1)
  })

  it('gives the same bytes to all who want everything', async () => {
    const streams = [(await open()).stream.chunks(), (await open()).stream.chunks()]
    for (const chunks of streams) await chunks.next()
    const next = streams.map((chunks) => chunks.next())
    await passes(0)
    written('A', CREATED, CREATED)
    await passes(100)
    const [one, other] = await Promise.all(next)
    expect(one?.value).toBeInstanceOf(Uint8Array)
    expect(one?.value).toBe(other?.value)
  })
})

describe('a stream ends', () => {
  it('when its key may not read any more, within a second', async () => {
    const [idle, blocked] = [await connected(), await open()]
    idle.take()
    blocked.take()
    await passes(0)
    caller = () => {
      throw new DomainError('unauthorized')
    }
    await passes(1000)
    expect([idle.hasEnded, idle.stream.cutOff.aborted, live.size]).toEqual([true, false, 0])
    // Its reader does not even take what it has.
    await passes(1000)
    expect([blocked.hasEnded, blocked.stream.cutOff.aborted]).toEqual([false, true])
  })

  it('before anything that its key may not see', async () => {
    const reader = await connected()
    caller = () => {
      throw new DomainError('unauthorized')
    }
    written('A', CREATED)
    await passes(100)
    await reader.takeAll()
    expect([reader.events, reader.hasEnded]).toEqual([[], true])
    const late = await open({ from: {} })
    await late.takeAll()
    expect([late.events, late.hasEnded]).toEqual([[], true])
  })

  it('when it is asked to, at once for a reader that has taken everything', async () => {
    const [reader, unread] = [await connected(), await open({ keyId: 'key_2' })]
    unread.take()
    await passes(0)
    reader.leave()
    unread.leave()
    await passes(0)
    expect([reader.hasEnded, unread.stream.cutOff.aborted]).toEqual([true, false])
    await passes(1000)
    expect([reader.stream.cutOff.aborted, unread.stream.cutOff.aborted]).toEqual([false, true])
  })

  it('at once when its caller has left before it began', async () => {
    const left = AbortSignal.abort()
    const stream = await live.open({ keyId: 'key_1', callerNow: caller, filter: {}, from: null, signal: left })
    expect(await stream.chunks().next()).toEqual({ value: undefined, done: true })
    expect(live.size).toBe(0)
    for (let i = 0; i < 150; i++)
      await live.open({ keyId: 'key_1', callerNow: caller, filter: {}, from: null, signal: left })
  })

  it('when its reader does not keep up, and others go on', async () => {
    live = new LiveEvents({ source, seal, log, hasEntry, ringLimits: { events: 100, bytes: 1e6 } })
    const [slow, quick] = [await connected(), await connected()]
    await slow.takeAll()
    written('A', CREATED)
    await passes(100)
    // Takes that one, and nothing more.
    for (let i = 0; i < 30; i++) {
      written('A', ...Array.from({ length: 10 }, () => CREATED))
      await passes(100)
      await quick.takeAll()
    }
    expect([slow.stream.cutOff.aborted, quick.stream.cutOff.aborted]).toEqual([true, false])
    expect(logged).toEqual(['closed a stream of live events whose reader is too slow'])
    expect(quick.events).toHaveLength(301)
    const resumed = await connected({ from: JSON.parse(slow.lastId as string) })
    expect([...slow.events, ...resumed.events]).toEqual(quick.events)
  })

  it('not because one page is larger than all that is kept', async () => {
    live = new LiveEvents({ source, seal, log, hasEntry, ringLimits: { events: 10, bytes: 1000 } })
    const reader = await connected()
    written('A', ...Array.from({ length: 90 }, () => ({ ...CREATED, note: 'x'.repeat(5000) }) as Told))
    await passes(100)
    await reader.takeAll()
    expect(reader.events).toHaveLength(90)
    expect(reader.stream.cutOff.aborted).toBe(false)
  })
})

describe('there are at most', () => {
  it('100 streams of a key and 1,000 of a server', async () => {
    const readers: Reader[] = []
    for (let i = 0; i < 100; i++) readers.push(await open({ keyId: 'key_0' }))
    await expect(open({ keyId: 'key_0' })).rejects.toMatchObject({
      code: 'rate_limited',
      detail: '100 streams of this key are open. Close one, then retry.',
      headers: { 'Retry-After': '5' },
    })
    for (let key = 1; key < 10; key++) for (let i = 0; i < 100; i++) await open({ keyId: `key_${key}` })
    await expect(open({ keyId: 'key_new' })).rejects.toMatchObject({
      detail: '1000 streams of this server are open. Close one, then retry.',
    })
    readers[0]?.leave()
    await open({ keyId: 'key_0' })
    await expect(open({ keyId: 'key_0' })).rejects.toMatchObject({ code: 'rate_limited' })
  })

  it('half of those of its creator for a key with all keys that it created', async () => {
    const made = Array.from({ length: 10 }, (_, i) => `made_${i}`)
    const lineOf = (keyId: string) => (made.includes(keyId) ? ['first', 'desk', keyId] : ['first', keyId])
    live = new LiveEvents({ source, seal, log, hasEntry, lineOf })
    // Each of them may have the half of a half of a half, and of these the half itself.
    for (const keyId of made.slice(0, 4)) for (let i = 0; i < 62; i++) await open({ keyId })
    await expect(open({ keyId: 'made_0' })).rejects.toMatchObject({
      detail: '62 streams of this key are open. Close one, then retry.',
    })
    for (let i = 0; i < 2; i++) await open({ keyId: 'made_4' })
    await expect(open({ keyId: 'made_5' })).rejects.toMatchObject({
      detail: '250 streams of this key and its related keys are open. Close one, then retry.',
    })
    for (let i = 0; i < 100; i++) await open({ keyId: 'shop' })
  })
})

/** A reader that comes again whenever it was cut off or has left. */
interface Chain {
  reader: Reader
  /** What it has heard before, as far as it had come when it left. */
  readonly heard: (string | null)[]
  /** The id that it knew when it came again. */
  id: string
  /** Where it began. */
  readonly start: Positions
  readonly filter: LiveFilter
}

describe('whatever happens in between', () => {
  it('each reader hears each of its events once, and those of a log in order', async () => {
    for (let seed = 1; seed <= drawsOf(300); seed++) {
      await runModel(seed)
      vi.clearAllTimers()
    }
  })
})

async function runModel(seed: number): Promise<void> {
  const { below, chance } = drawing(seed)
  source = new ScriptedLogs()
  source.pick = below
  source.hold = () => (chance(0.5) ? new Promise((resolve) => setTimeout(resolve, below(150))) : undefined)
  live = new LiveEvents({ source, seal, log, hasEntry, ringLimits: { events: 1 + below(30), bytes: 1e6 } })
  const draw = (): Told =>
    chance(0.3)
      ? null
      : { type: chance(0.5) ? 'decision.created' : 'decision.approved', agent_id: chance(0.5) ? 'agent:a' : 'agent:b' }
  const append = (): void => {
    source.append('ABC'[below(3)] as string, ...Array.from({ length: below(chance(0.1) ? 150 : 8) }, draw))
    if (chance(0.7)) live.wake()
  }
  const chains: Chain[] = []
  const openChain = async (filter: LiveFilter, from: Positions | null): Promise<Reader> => {
    let opened: Reader | null = null
    void open({ filter, from }).then((reader) => {
      opened = reader
    })
    while (opened === null) await passes(50)
    return opened
  }
  const join = async (): Promise<void> => {
    const filter: LiveFilter = chance(0.5) ? {} : { agent_id: 'agent:b' }
    const before = source.end
    const reader = await openChain(filter, chance(0.5) ? null : {})
    await reader.takeAll()
    const start = JSON.parse(reader.blocks[0]?.id as string) as Positions
    if (Object.keys(start).length > 0)
      for (const name in before) expect(start[name], `seed ${seed}`).toBeGreaterThanOrEqual(before[name] as number)
    chains.push({ reader, heard: [], id: JSON.stringify(start), start, filter })
  }
  const comeAgain = async (chain: Chain): Promise<void> => {
    const { blocks } = chain.reader
    chain.reader.leave()
    // The last chunk may have come in part.
    const taken = blocks.slice(0, chance(0.5) ? blocks.length : Math.max(1, blocks.length - below(5)))
    chain.heard.push(...taken.flatMap(({ event, of }) => (event === null ? [] : [of])))
    chain.id = taken.reduce((last, block) => block.id ?? last, chain.id)
    chain.reader = await openChain(chain.filter, JSON.parse(chain.id))
  }
  for (let steps = 20 + below(60); steps > 0; steps -= 1) {
    source.most = 1 + below(20)
    const chain = chains[below(Math.max(1, chains.length))]
    const what = below(10)
    if (what < 4) append()
    else if (chains.length < 4 && what === 4) await join()
    else if (what < 8) chain?.reader.take()
    else if (what === 8 && chain !== undefined && chance(0.3)) await comeAgain(chain)
    await passes(below(chance(0.1) ? 2000 : 120))
    for (const each of chains) if (each.reader.stream.cutOff.aborted) await comeAgain(each)
  }
  source.most = Number.POSITIVE_INFINITY
  source.hold = () => undefined
  for (let left = 30; left > 0; left -= 1) {
    await passes(1000)
    for (const chain of chains) {
      if (chain.reader.stream.cutOff.aborted) await comeAgain(chain)
      await chain.reader.takeAll()
    }
  }
  for (const { reader, heard, start, filter } of chains) {
    const all = [...heard, ...reader.events]
    for (const [name, entries] of Object.entries(source.logs)) {
      const expected = entries.flatMap((told, index) => {
        const isEvent = told !== null && 'type' in told
        const isWanted = isEvent && (filter.agent_id === undefined || told.agent_id === filter.agent_id)
        return isWanted && index >= (start[name] ?? 0) ? [`${name}${index}`] : []
      })
      expect(
        all.filter((of) => of?.startsWith(name)),
        `seed ${seed}, log ${name}`,
      ).toEqual(expected)
    }
    reader.leave()
  }
  await passes(0)
  expect(live.size).toBe(0)
}

function drawing(seed: number) {
  const random = seededRandom(seed)
  return { below: (limit: number) => Math.floor(random() * limit), chance: (share: number) => random() < share }
}
