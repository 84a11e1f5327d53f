import { leafHash } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type MutationDraft, MutationWriter } from './mutation-writer.js'
import { StoreUnavailableError } from './ports/store/errors.js'
import { type CommitResult, type Conflict, ConflictError, type Mutation } from './ports/store/store.js'

/** A store whose commits the test answers one by one, as a disk would in its own time. */
class ScriptedStore {
  readonly log: Mutation[] = []
  readonly waiting: { mutations: readonly Mutation[]; answer: (result: CommitResult | Error) => void }[] = []

  async openLog() {
    return { log: 'a1', next_index: this.log.length }
  }

  commit(mutations: readonly Mutation[]): Promise<CommitResult> {
    return new Promise((resolve, reject) => {
      this.waiting.push({
        mutations,
        answer: (result) => {
          if (result instanceof Error) return reject(result)
          this.log.push(...mutations.slice(0, result.written))
          resolve(result)
        },
      })
    })
  }

  /** Until a group has left. */
  async left(): Promise<void> {
    await vi.waitFor(() => expect(this.waiting).not.toHaveLength(0), { interval: 1 })
  }

  /** Answers the commit that is on its way, once there is one. */
  async next(answer: (mutations: readonly Mutation[]) => CommitResult | Error = all): Promise<readonly Mutation[]> {
    await this.left()
    const { mutations, answer: settle } = this.waiting.shift() as (typeof this.waiting)[0]
    settle(answer(mutations))
    return mutations
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const all = (mutations: readonly Mutation[]): CommitResult => ({ written: mutations.length, conflict: null })
const stopAt = (written: number, conflict: Conflict) => (): CommitResult => ({ written, conflict })

let made = 0
function draft(subject: string, at = '2026-11-21T10:00:00.000Z'): MutationDraft {
  return {
    entry: { at, type: 'agent.updated', actor: null, subject, agent_id: null, data: {} },
    change: { kind: 'entry.only' },
    idempotency: null,
  }
}

let store: ScriptedStore
let writer: MutationWriter
beforeEach(() => {
  store = new ScriptedStore()
  writer = new MutationWriter(store as never, { next: (prefix) => `${prefix}_${made++}` }, 1000)
})
afterEach(() => vi.useRealTimers())

const subjects = (mutations: readonly Mutation[]) => mutations.map(({ entry }) => entry?.subject)

describe('group commit', () => {
  test('the times within a log never decrease, no matter who looked at the clock first', async () => {
    const times = ['02', '01', '03', '02'].map((second) => `2026-11-21T10:00:${second}.000Z`)
    const written = times.slice(0, 1).map((at, i) => writer.write(draft(String(i), at)))
    await store.left()
    written.push(...times.slice(1).map((at, i) => writer.write(draft(String(i), at))))
    const mutations = [...(await store.next()), ...(await store.next())]
    await Promise.all(written)
    expect(mutations.map(({ entry }) => entry?.at.slice(17, 19))).toEqual(['02', '02', '03', '03'])
  })

  test('what comes in one turn of the event loop leaves together, at its end', async () => {
    const written = ['a', 'b'].map((subject) => writer.write(draft(subject)))
    await turn()
    written.push(writer.write(draft('c')))
    expect(subjects(store.waiting[0]?.mutations ?? [])).toEqual(['a', 'b'])
    await store.next()
    expect(subjects(await store.next())).toEqual(['c'])
    await Promise.all(written)
  })

  test('a large group leaves before the turn ends: the store begins while the rest of the turn comes', async () => {
    const written = Array.from({ length: 16 }, (_, i) => writer.write(draft(`early ${i}`)))
    await Promise.resolve()
    await Promise.resolve()
    written.push(...['late', 'later'].map((subject) => writer.write(draft(subject))))
    expect(subjects(await store.next())).toHaveLength(16)
    expect(subjects(await store.next())).toEqual(['late', 'later'])
    await Promise.all(written)
  })

  test('what gathers while one group is written leaves together as the next', async () => {
    const first = writer.write(draft('a'))
    await store.left()
    const rest = ['b', 'c', 'd'].map((subject) => writer.write(draft(subject)))
    expect(subjects(await store.next())).toEqual(['a'])
    expect(subjects(await store.next())).toEqual(['b', 'c', 'd'])
    const positions = (await Promise.all([first, ...rest])).map((written) => written.position)
    expect(positions.map(({ log, index }) => `${log}/${index}`)).toEqual(['a1/0', 'a1/1', 'a1/2', 'a1/3'])
  })

  test('every entry carries the hash of itself', async () => {
    const written = writer.write(draft('a'))
    const [mutation] = await store.next()
    const { leaf, ...rest } = (mutation as Mutation).entry as AuditEntry
    expect(leafHash(rest)).toBe(leaf)
    expect((await written).position.leaf).toBe(leaf)
  })
})

describe('a conflict', () => {
  test('rejects its own mutation alone; those behind it move up, so that the log has no gap', async () => {
    const blocker = writer.write(draft('blocker'))
    await store.left()
    const writes = ['a', 'b', 'c'].map((subject) => writer.write(draft(subject)))
    const settled = Promise.allSettled(writes)
    await store.next()
    await blocker
    await store.next(stopAt(1, 'version'))
    expect(subjects(await store.next())).toEqual(['c'])
    const [a, b, c] = await settled
    expect(a).toMatchObject({ status: 'fulfilled', value: { position: { index: 1 } } })
    expect(b).toMatchObject({ status: 'rejected', reason: new ConflictError('version') })
    expect(c).toMatchObject({ status: 'fulfilled', value: { position: { index: 2 } } })
    expect(store.log.map(({ entry }) => entry?.index)).toEqual([0, 1, 2])
  })

  test('rejects at once all calls that the store says were made before', async () => {
    const settled = Promise.allSettled(['a', 'b', 'c', 'd'].map((subject) => writer.write(draft(subject))))
    await store.next(() => ({ written: 0, conflict: 'idempotency_key', repeated: new Set([1, 3]) }))
    expect(subjects(await store.next())).toEqual(['c'])
    const results = await settled
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'rejected'])
    for (const i of [0, 1, 3]) expect(results[i]).toMatchObject({ reason: new ConflictError('idempotency_key') })
    expect(store.log.map(({ entry }) => entry?.index)).toEqual([0])
  })

  test('what was signed for a position that was lost is thrown away', async () => {
    const signed: number[] = []
    const sign = async ({ index }: { index: number }) => signed.push(index)
    const blocker = writer.write(draft('blocker'))
    await store.left()
    const lost = writer.write(draft('a'), async () => 'a').catch((error: Error) => error)
    const moved = writer.write(draft('b'), async (position) => {
      await sign(position)
      return `signed for ${position.index}`
    })
    await store.next()
    await blocker
    await store.next(stopAt(0, 'idempotency_key'))
    await store.next()
    expect(await lost).toBeInstanceOf(ConflictError)
    expect(signed).toEqual([2, 1])
    expect(await moved).toMatchObject({ position: { index: 1 }, beside: 'signed for 1' })
  })

  test('another writer in the log makes this one look where the log ends', async () => {
    const rejected = writer.write(draft('a')).catch((error: Error) => error)
    await store.next(stopAt(0, 'log_index'))
    expect(await rejected).toBeInstanceOf(StoreUnavailableError)
    store.log.push({} as Mutation, {} as Mutation)
    const next = writer.write(draft('b'))
    await store.next()
    expect((await next).position.index).toBe(2)
  })
})

describe('nothing is answered that is not durable', () => {
  test('a failed commit rejects its whole group, and the log goes on where the store says', async () => {
    const rejected = writer.write(draft('a')).catch((error: Error) => error)
    await store.next(() => new Error('disk full'))
    expect(await rejected).toBeInstanceOf(StoreUnavailableError)
    store.log.push({} as Mutation)
    const next = writer.write(draft('b'))
    await store.next()
    expect((await next).position.index).toBe(1)
  })

  test('a commit that never ends is rejected at the deadline, and what waited behind it never leaves', async () => {
    vi.useFakeTimers()
    const stuck = writer.write(draft('stuck')).catch((error: Error) => error)
    await vi.advanceTimersByTimeAsync(0)
    const behind = writer.write(draft('behind')).catch((error: Error) => error)
    await vi.advanceTimersByTimeAsync(1000)
    expect(await stuck).toBeInstanceOf(StoreUnavailableError)
    expect(await behind).toBeInstanceOf(StoreUnavailableError)
    vi.useRealTimers()
    const later = writer.write(draft('later'))
    await store.next()
    expect(subjects(await store.next())).toEqual(['later'])
    expect((await later).position.index).toBe(1)
  })

  test('a signature that fails rejects the call although the mutation is durable', async () => {
    const write = writer.write(draft('a'), () => Promise.reject(new Error('no key')))
    const rejected = write.catch((error: Error) => error)
    await store.next()
    expect(await rejected).toEqual(new Error('no key'))
    expect(store.log).toHaveLength(1)
  })
})

describe('a deadline', () => {
  beforeEach(() => vi.useFakeTimers())
  const lateError = (beside?: () => Promise<void>) =>
    writer.write(draft('late'), beside).then(
      () => expect.fail('the write was in time'),
      (error: StoreUnavailableError) => error,
    )

  test('passes for each call in its own time', async () => {
    const late: string[] = []
    const write = (subject: string) => void writer.write(draft(subject)).catch(() => late.push(subject))
    write('a')
    await vi.advanceTimersByTimeAsync(400)
    write('b')
    await vi.advanceTimersByTimeAsync(599)
    expect(late).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(late).toEqual(['a'])
    await vi.advanceTimersByTimeAsync(399)
    expect(late).toEqual(['a'])
    await vi.advanceTimersByTimeAsync(1)
    expect(late).toEqual(['a', 'b'])
  })

  test('that has passed says when the write has ended, sent or not', async () => {
    const calls = [lateError()]
    await vi.advanceTimersByTimeAsync(1)
    calls.push(lateError())
    await vi.advanceTimersByTimeAsync(1000)
    const ended: number[] = []
    for (const [i, { settled }] of (await Promise.all(calls)).entries()) void settled.then(() => ended.push(i))
    await vi.advanceTimersByTimeAsync(1000)
    expect(ended).toEqual([])
    await store.next()
    await vi.advanceTimersByTimeAsync(0)
    expect(ended).toEqual([0, 1])
    expect(store.waiting).toEqual([])
  })

  test('passes for the work beside a durable write, too', async () => {
    const call = lateError(() => new Promise(() => {}))
    await vi.advanceTimersByTimeAsync(1)
    await store.next()
    await vi.advanceTimersByTimeAsync(1000)
    await (await call).settled
  })
})

test('flushed waits for all that was accepted', async () => {
  const writes = [writer.write(draft('a'))]
  await store.left()
  writes.push(writer.write(draft('b')))
  let isFlushed = false
  const flushed = writer.flushed().then(() => {
    isFlushed = true
  })
  await store.next()
  await writes[0]
  expect(isFlushed).toBe(false)
  await store.next()
  await flushed
  expect(await Promise.all(writes)).toHaveLength(2)
})

test('a call that changed nothing is kept without a position in the log', async () => {
  const idempotency = { key: 'k' } as never
  const before = writer.write(draft('one'))
  await store.left()
  const first = store.next()
  const call = writer.writeCall(idempotency)
  const after = writer.write(draft('two'))
  await first
  const [kept, logged] = await store.next()
  await Promise.all([before, call, after])
  expect(kept).toEqual({ change: { kind: 'call.only' }, entry: null, idempotency })
  expect(logged?.entry?.index).toBe(1)
  const next = writer.write(draft('three'))
  const [third] = await store.next()
  await next
  expect(third?.entry?.index).toBe(2)
})

test('a mutation that cannot be made fails alone', async () => {
  const broken: MutationDraft = {
    ...draft('broken'),
    holds: () => {
      throw new Error('nobody knows')
    },
  }
  const before = writer.write(draft('a'))
  await store.left()
  const writes = Promise.allSettled([before, writer.write(draft('b')), writer.write(broken), writer.write(draft('c'))])
  await store.next()
  expect(subjects(await store.next())).toEqual(['b', 'c'])
  expect((await writes).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect(store.log.map(({ entry }) => entry?.index)).toEqual([0, 1, 2])
})

test('work beside the write that fails at once fails its own mutation alone', async () => {
  const failing = writer.write(draft('a'), () => {
    throw new Error('no signature')
  })
  const failed = expect(failing).rejects.toThrow('no signature')
  await store.next()
  await failed
  const next = writer.write(draft('b'))
  await store.next()
  await expect(next).resolves.toMatchObject({ position: { index: 1 } })
})

test('a mutation whose deadline passed while the log was being opened is never written', async () => {
  vi.useFakeTimers()
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const openLog = store.openLog.bind(store)
  store.openLog = () => opened.then(openLog)
  const late = expect(writer.write(draft('late'))).rejects.toBeInstanceOf(StoreUnavailableError)
  await vi.advanceTimersByTimeAsync(1000)
  await late
  const next = writer.write(draft('next'))
  vi.useRealTimers()
  open()
  expect(subjects(await store.next())).toEqual(['next'])
  await next
})
