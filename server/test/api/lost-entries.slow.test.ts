/** A store that lacks what its signing keys have signed: the server does not start over as if nothing had been decided. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Store } from '#server/ports/store/store'
import { backUpStore } from '#server/stores/sqlite/backup'
import { restoreStore } from '#server/stores/sqlite/restore'
import { ON_MONGODB, openTestStore } from '../open-test-store.js'
import { type RunningServer, runServer } from '../running-server.js'
import type { CallOf } from '../store-suite/index.js'
import { withCalls } from '../with-calls.js'
import { ALLOWED, createPolicy, decide, everyItem, REFUNDS } from './refunds.js'

let server: RunningServer
afterEach(async () => {
  await server.stop()
})

const keyFile = (dataDir: string) => join(dataDir, 'signing-keys.json')
const remembered = (dataDir: string) => JSON.parse(readFileSync(keyFile(dataDir), 'utf8')).newest_entry

/** As if this many entries had been lost. */
async function forgetIn(dataDir: string, entries: number): Promise<void> {
  const file = JSON.parse(readFileSync(keyFile(dataDir), 'utf8'))
  file.newest_entry.index += entries
  writeFileSync(keyFile(dataDir), JSON.stringify(file))
}

/** What a store is asked for while a server starts, in any order. */
const ASKED_AT_START: ReadonlySet<string> = new Set<CallOf<Store>>([
  'openLog',
  'audit.has',
  'isRestored',
  'leaveLogs',
  'commit',
  'secret',
  'audit.list',
  'policies.load',
  'agents.load',
  'keys.load',
  'keys.loadUses',
  'decisions.listOpenReviews',
  'decisions.firstApprovalEnd',
])

const DEAD = new Error('The process is gone.')

/** A store that does a number of things and then, as if its process had been killed, nothing more. */
async function openDying(dataDir: string, calls: number): Promise<Store> {
  let left = calls
  return withCalls(await openTestStore(dataDir), (name, perform) => {
    if (!ASKED_AT_START.has(name)) return perform()
    if (left === 0) return Promise.reject(DEAD)
    left -= 1
    return perform()
  })
}

describe('a store that is shorter than its signing keys remember', () => {
  it('is refused, and with the loss accepted gets a new log that tells of it', async () => {
    server = await runServer()
    await createPolicy(server, REFUNDS)
    await decide(server, ALLOWED)
    const before = await everyItem(server, '/v1/audit')
    const newest = before.toSorted((one, other) => other.index - one.index)[0]
    await expect(server.restart({ meanwhile: (dataDir) => forgetIn(dataDir, 1) })).rejects.toThrow(
      `lacks entry ${newest.index + 1} of its audit log ${newest.log}`,
    )
    const { dataDir, clock } = server
    await expect(runServer({ dataDir, clock })).rejects.toThrow('--accept-loss')
    const next = await runServer({ dataDir, clock, parts: { acceptsLoss: true } })
    const { stop } = server
    server = { ...next, stop: () => next.stop().then(stop) }
    const entries = await everyItem(next, '/v1/audit')
    const isOld = ({ log }: { readonly log: string }) => log === newest.log
    expect(new Set(entries.filter(isOld).map(({ id }) => id))).toEqual(new Set(before.map(({ id }) => id)))
    const added = entries.filter((entry) => !isOld(entry))
    expect(added).toMatchObject([
      { type: 'store.loss_accepted', subject: newest.log, data: { index: newest.index + 1 }, index: 0 },
    ])
    expect(added[0].log).not.toBe(newest.log)
    expect(next.logged.filter(({ fields }) => 'lost_log' in fields)).toMatchObject([
      { fields: { lost_log: newest.log, lost_index: newest.index + 1 } },
    ])
    expect(remembered(dataDir)).toEqual({ log: added[0].log, index: 0 })
  })

  it('is refused as before, or accepted, wherever the server that accepts it dies', async () => {
    server = await runServer()
    await createPolicy(server, REFUNDS)
    await decide(server, ALLOWED)
    const before = await everyItem(server, '/v1/audit')
    const { dataDir, clock, started } = server
    await started.stop()
    await forgetIn(dataDir, 1)
    const lost = remembered(dataDir)
    let deaths = 0
    const accepting = (calls: number) =>
      runServer({ dataDir, clock, parts: { acceptsLoss: true, openStore: () => openDying(dataDir, calls) } })
    for (; ; deaths += 1) {
      const lived = await accepting(deaths).catch((error) => {
        if (error !== DEAD && error.cause !== DEAD) throw error
      })
      await lived?.stop()
      if (lived !== undefined) break
      await expect(runServer({ dataDir, clock }), `after ${deaths} calls`).rejects.toThrow('--accept-loss')
    }
    expect(deaths).toBeGreaterThan(5)
    const accepted = await runServer({ dataDir, clock })
    const { stop } = server
    server = { ...accepted, stop: () => accepted.stop().then(stop) }
    const entries = await everyItem(accepted, '/v1/audit')
    expect(entries).toEqual(expect.arrayContaining(before))
    const losses = entries.filter(({ type }) => type === 'store.loss_accepted')
    for (const loss of losses) expect(loss).toMatchObject({ subject: lost.log, data: { index: lost.index } })
    expect(losses.map(({ log }) => log)).toContain(remembered(dataDir).log)
  })

  it('is none when nothing is missing, and the key file remembers the newest entry', async () => {
    server = await runServer()
    await createPolicy(server, REFUNDS)
    const entries = await everyItem(server, '/v1/audit')
    const newest = entries.toSorted((one, other) => other.index - one.index)[0]
    server = await server.restart()
    expect(remembered(server.dataDir)).toEqual({ log: newest.log, index: newest.index })
  })

  // A backup and a database file are the embedded store's alone.
  if (!ON_MONGODB) {
    it('is none when it was restored, and the log tells what the backup lacks', async () => {
      server = await runServer()
      await createPolicy(server, REFUNDS)
      const folder = mkdtempSync(join(tmpdir(), 'countersign-restored-'))
      const [backup, dataDir] = [join(folder, 'backup'), join(folder, 'data')]
      await backUpStore(join(server.dataDir, 'countersign.db'), backup)
      await decide(server, ALLOWED)
      server = await server.restart({
        async meanwhile(former) {
          const lost = remembered(former)
          await restoreStore(backup, dataDir)
          cpSync(keyFile(former), keyFile(dataDir))
          const { clock } = server
          const restored = await runServer({ dataDir, clock })
          expect(restored.logged.filter(({ fields }) => 'lost_log' in fields)).toMatchObject([
            { level: 'warn', fields: { lost_log: lost.log, lost_index: lost.index } },
          ])
          await decide(restored, ALLOWED)
          await restored.stop()
          expect(remembered(dataDir).log).not.toBe(lost.log)
          await (await runServer({ dataDir, clock })).stop()
        },
      })
      rmSync(folder, { recursive: true })
    })

    it('is refused when the database is gone, and no other one is made', async () => {
      server = await runServer()
      const removed = async (dataDir: string) => {
        for (const name of readdirSync(dataDir)) if (name.startsWith('countersign.db')) rmSync(join(dataDir, name))
      }
      await expect(server.restart({ meanwhile: removed })).rejects.toThrow(/countersign\.db is missing or empty/)
      const { dataDir, clock } = server
      expect(readdirSync(dataDir).filter((name) => name.startsWith('countersign.db'))).toEqual([])
      const next = await runServer({ dataDir, clock, parts: { acceptsLoss: true } })
      const { stop } = server
      server = { ...next, stop: () => next.stop().then(stop) }
      expect((await everyItem(next, '/v1/audit')).map(({ type }) => type)).toContain('store.loss_accepted')
    })
  }
})
