/** The audit log oldest first, as a reader follows it: with a cursor that never ends. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { writeLog } from '../audit-logs.js'
import { intruderOf } from '../intruder.js'
import { type RunningServer, runServer } from '../running-server.js'
import { openStoreWith } from '../store-with.js'
import { createPolicy, decide, makeKey, succeed } from './refunds.js'

interface Entry {
  readonly id: string
  readonly log: string
  readonly index: number
  readonly at: string
  readonly type: string
  readonly subject: string
  readonly agent_id: string | null
}
interface Page {
  readonly data: readonly Entry[]
  readonly next_cursor: string
}

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, { name: 'all', rules: [{ action: 'mail.*', effect: 'allow' }] })
})
afterAll(() => server.stop())

const ask = (agent = 'agent:a') => decide(server, { agent_id: agent, action: 'mail.send' })
const read = (query: string, after?: string): Promise<Page> =>
  succeed(server.call('GET', `/v1/audit?order=asc${query}${after === undefined ? '' : `&after=${after}`}`))
const problem = async (query: string, key?: string) => {
  const { status, body } = await server.call('GET', `/v1/audit${query}`, key === undefined ? {} : { key })
  return [
    status,
    body.code,
    ...(body.errors ?? []).map(({ pointer, detail }: Record<string, string>) => `${pointer} ${detail}`),
  ]
}

/** Everything from there on, and the cursor behind it. */
async function drain(query: string, after?: string): Promise<Page> {
  const data: Entry[] = []
  for (let cursor = after; ; ) {
    const page = await read(query, cursor)
    data.push(...page.data)
    if (page.next_cursor === cursor) return { data, next_cursor: cursor }
    cursor = page.next_cursor
  }
}

const listed = async (query = ''): Promise<Entry[]> =>
  (await succeed(server.call('GET', `/v1/audit?limit=200${query}`))).data

describe('the audit log, oldest first', () => {
  it('has every entry once, in order, and the same cursor when nothing came since', async () => {
    for (let i = 0; i < 7; i += 1) await ask()
    const { data, next_cursor } = await drain('&limit=3')
    expect(data).toEqual((await listed()).toReversed())
    expect(data.map(({ index }) => index)).toEqual(data.map((_, i) => i))
    expect(await read('', next_cursor)).toEqual({ data: [], next_cursor })
    expect(await read('&limit=1', next_cursor)).toEqual({ data: [], next_cursor })
  })

  it('gives with the same cursor what came since, also behind an empty page and one that was not full', async () => {
    const { next_cursor: end } = await drain('&limit=200')
    const { id } = await ask()
    const page = await read('', end)
    expect(page.data.map(({ subject }) => subject)).toEqual([id])
    const other = await ask()
    expect((await read('', page.next_cursor)).data.map(({ subject }) => subject)).toEqual([other.id])
    expect((await read('', end)).data.map(({ subject }) => subject)).toEqual([id, other.id])
  })

  it('begins at the end with after=now', async () => {
    const { data, next_cursor } = await read('', 'now')
    expect(data).toEqual([])
    const { id } = await ask()
    expect((await read('', next_cursor)).data.map(({ subject }) => subject)).toEqual([id])
  })

  it('goes on behind entries that a filter leaves out, and filters as the other order does', async () => {
    const { id } = await ask('agent:rare')
    await ask()
    const [{ at } = { at: '' }] = await listed(`&subject=${id}`)
    for (const filter of [
      '&type=policy.created',
      '&agent_id=agent:rare',
      `&decision_id=${id}`,
      `&subject=${id}`,
      `&from=${at}`,
      `&to=${at}`,
    ]) {
      const { data, next_cursor } = await drain(`${filter}&limit=2`)
      expect(data, filter).toEqual((await listed(filter)).toReversed())
      // The cursor is behind all entries, not only behind those that were shown.
      expect((await read('', next_cursor)).data, filter).toEqual([])
    }
  })

  it('goes on with another key and after a restart: the cursor is bound to the log alone', async () => {
    const { next_cursor } = await drain('')
    const { id } = await ask()
    const { key, id: keyId } = await makeKey(server, ['audit:read'])
    server = await server.restart()
    const { body } = await server.call('GET', `/v1/audit?order=asc&after=${next_cursor}`, { key })
    expect(body.data.map(({ subject }: Entry) => subject)).toEqual([id, keyId])
  })

  it('has the entries of a log that begins later, and goes on in each log', async () => {
    const before = await drain('')
    const names: string[] = []
    server = await server.restart({ meanwhile: async (dataDir) => void names.push(await writeLog(dataDir, 5)) })
    const after = await drain('&limit=2', before.next_cursor)
    expect(after.data.map(({ log, index }) => `${log} ${index}`)).toEqual(
      [0, 1, 2, 3, 4].map((i) => `${names[0]} ${i}`),
    )
    const { id } = await ask()
    const { data } = await drain('', after.next_cursor)
    expect(data.map(({ subject }) => subject)).toEqual([id])
    const all = await drain('&limit=4')
    for (const log of new Set(all.data.map((entry) => entry.log))) {
      const indexes = all.data.filter((entry) => entry.log === log).map(({ index }) => index)
      expect(indexes).toEqual(indexes.map((_, i) => i))
    }
  })

  it.each([
    [
      '?order=asc&cursor=x',
      [400, 'validation_failed', '/cursor cannot be given with order=asc: use after, which never ends'],
    ],
    ['?after=now', [400, 'validation_failed', '/after needs order=asc']],
    ['?order=desc&after=now', [400, 'validation_failed', '/after needs order=asc']],
    ['?order=asc&after=', [400, 'invalid_cursor']],
    ['?order=asc&after=e30.x', [400, 'invalid_cursor']],
    ['?order=asc&after=Now', [400, 'invalid_cursor']],
  ])('refuses %s', async (query, answer) => {
    expect(await problem(query)).toEqual(answer)
  })

  it('refuses an unknown order and parameters that do not exist', async () => {
    expect((await problem('?order=up'))[1]).toBe('validation_failed')
    expect((await problem('?order=asc&before=x'))[1]).toBe('validation_failed')
    expect((await problem('?order=asc&limit=201'))[1]).toBe('validation_failed')
  })

  it('refuses the cursor of the other order, and its own cursor there', async () => {
    const { next_cursor } = await succeed(server.call('GET', '/v1/audit?limit=1'))
    expect(await problem(`?order=asc&after=${next_cursor}`)).toEqual([400, 'invalid_cursor'])
    expect(await problem(`?cursor=${(await read('')).next_cursor}`)).toEqual([400, 'invalid_cursor'])
  })

  it('refuses a key without the scope', async () => {
    const { key } = await makeKey(server, ['decisions:read'])
    expect(await problem('?order=asc', key)).toEqual([403, 'insufficient_scope'])
  })
})

/** Copies the store and all that the server keeps beside it. Gives what puts both back. */
async function copyOfAll(dataDir: string): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'copied-data-'))
  cpSync(dataDir, folder, { recursive: true })
  const putStoreBack = await intruderOf(dataDir).copyStore()
  return async () => {
    rmSync(dataDir, { recursive: true })
    cpSync(folder, dataDir, { recursive: true })
    rmSync(folder, { recursive: true })
    await putStoreBack()
  }
}

describe('the audit log, on a new primary of MongoDB that does not show yet what a majority has', () => {
  /** Restarts on a store that shows entries from an index on only after the write of a `ping`. */
  async function lagging(from: number, ping: (sound: () => Promise<void>) => Promise<void>): Promise<void> {
    let isBehind = true
    server = await server.restart({
      parts: {
        openStore: (dataDir) =>
          openStoreWith(dataDir, (store) => ({
            audit: {
              read: async (log, index, ...room) => {
                const entries = await store.audit.read(log, index, ...room)
                return isBehind ? entries.filter((entry) => entry.index < from) : entries
              },
              listLogs: async () => {
                const ends = await store.audit.listLogs()
                return isBehind ? ends.map((end) => ({ ...end, next_index: Math.min(end.next_index, from) })) : ends
              },
            },
            ping: async () => {
              await ping(() => store.ping())
              isBehind = false
            },
          })),
      },
    })
  }

  it('goes on behind the entries, or answers 503, and never says that they are gone', async () => {
    await ask()
    const { data, next_cursor } = await drain('')
    const { index } = data.at(-1) as Entry
    await lagging(index, () => Promise.reject(new StoreUnavailableError('There is no majority.')))
    expect(await problem(`?order=asc&after=${next_cursor}`)).toEqual([503, 'store_unavailable'])
    await lagging(index, (sound) => sound())
    expect(await read('', next_cursor)).toEqual({ data: [], next_cursor })
    server = await server.restart({ parts: {} })
  })
})

describe('the audit log, after an older copy of the store was put back', () => {
  /** Gives cursors behind two entries that the copy lacks, one for each start, once the store has `written` others. */
  async function cursorsOfLostEntries(written: number): Promise<{ readonly lost: string; readonly log: string }[]> {
    let putBack = async () => {}
    await ask()
    server = await server.restart({
      meanwhile: async (dataDir) => {
        putBack = await copyOfAll(dataDir)
      },
    })
    await ask()
    await ask()
    const { data, next_cursor } = await drain('')
    const { log } = data.at(-1) as Entry
    const now = await read('', 'now')
    const since = await read('&from=2099-01-01T00:00:00.000Z')
    server = await server.restart({ meanwhile: putBack })
    for (let i = 0; i < written; i += 1) await ask()
    return [next_cursor, now.next_cursor, since.next_cursor].map((lost) => ({ lost, log }))
  }

  it.each([
    ['with as many entries as were read', 2],
    ['with more entries', 5],
  ])('refuses the cursor of entries that are gone, %s', async (_what, written) => {
    for (const { lost, log } of await cursorsOfLostEntries(written)) {
      const { status, body } = await server.call('GET', `/v1/audit?order=asc&after=${lost}`)
      expect([status, body.code]).toEqual([400, 'invalid_cursor'])
      expect(body.detail).toContain(`of the audit log ${log} is not the one that was read`)
      expect(body.detail).toContain('rewritten, or an older copy of the store was restored')
    }
    const again = await drain('')
    expect(await read('', again.next_cursor)).toEqual({ data: [], next_cursor: again.next_cursor })
  })

  it('refuses it while there are fewer entries', async () => {
    for (const { lost, log } of await cursorsOfLostEntries(1)) {
      const { status, body } = await server.call('GET', `/v1/audit?order=asc&after=${lost}`)
      expect([status, body.code]).toEqual([400, 'invalid_cursor'])
      expect(body.detail).toMatch(
        new RegExp(`behind entry [0-9]+ of the audit log ${log}, which has [0-9]+ entries now`),
      )
    }
  })
})
