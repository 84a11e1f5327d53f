/** `countersign audit follow` goes on over kills of the server and of itself: each entry at least once, each log in order. */
import { watch } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { AuditEntry } from '@countersign/contract'
import { SEED, seededRandom, until } from '@countersign/testkit'
import { expect } from 'vitest'
import { listAll } from './call.js'
import type { Child } from './child.js'
import { CHOSEN_KEY, countersign, newDirectory, ShippedServer } from './shipped-server.js'

const CALLERS = 6
const DECISIONS = 90
const VICTIMS = ['the server', 'the follower', 'both'] as const

/** What one run of the follower has written in whole lines. */
const linesOf = ({ stdout }: Child): readonly string[] => stdout.split('\n').slice(0, -1)

export async function auditFollowOverKills(kills: number, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const random = seededRandom(SEED)
  const pick = (count: number) => Math.floor(random() * count)
  const dataDir = newDirectory()
  const position = join(newDirectory(), 'position.json')
  let server = await ShippedServer.start({ dataDir, env })
  const { url } = server
  await server.call('POST', '/v1/policies', { body: { name: 'all', rules: [{ action: 'mail.*', effect: 'allow' }] } })

  const runs: Child[] = []
  const follow = () => {
    const access = { COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: CHOSEN_KEY }
    const run = countersign(['audit', 'follow', '--position', position], { env: access })
    runs.push(run)
    return run
  }
  const seen = () => runs.reduce((sum, run) => sum + linesOf(run).length, 0)
  let follower = follow()

  for (let kill = 0; kill < kills; kill += 1) {
    const load = loadOn(server)
    const wanted = seen() + 1 + pick(DECISIONS / 2)
    await until(`${wanted} lines; ${follower.stderr}`, () => (seen() >= wanted ? true : undefined))
    const victim = VICTIMS[kill % VICTIMS.length]
    // At the moment when the position is there: whatever is not written by then is lost.
    if (victim === 'the follower') await Promise.all([replaced(position), decide(server)])
    if (victim !== 'the server') follower.signal('SIGKILL')
    if (victim !== 'the follower') {
      server.signal('SIGKILL')
      await server.end()
    }
    await load
    if (victim !== 'the follower')
      server = await ShippedServer.start({ dataDir, env: { ...env, PORT: new URL(url).port } })
    if (victim !== 'the server') {
      await follower.end()
      follower = follow()
    }
  }
  await loadOn(server)

  const entries: AuditEntry[] = await listAll(url, '/v1/audit', CHOSEN_KEY)
  const followed = () => runs.map((run) => linesOf(run).map((line): AuditEntry => JSON.parse(line)))
  await until(`all ${entries.length} entries; ${follower.stderr}`, () => {
    const ids = new Set(followed().flatMap((run) => run.map(({ id }) => id)))
    return entries.every(({ id }) => ids.has(id)) || undefined
  })
  follower.signal('SIGTERM')
  expect(await follower.end()).toEqual({ code: 0, signal: null })
  await server.stop()

  expectInOrder(followed())
  const lines = seen()
  const logs = new Set(entries.map(({ log }) => log)).size
  console.log(`${entries.length} entries of ${logs} logs over ${kills} kills; ${lines - entries.length} came again`)
}

/** Resolves as soon as the file is replaced. */
async function replaced(file: string): Promise<void> {
  const watching = AbortSignal.timeout(60_000)
  for await (const { filename } of watch(dirname(file), { signal: watching })) if (filename === basename(file)) return
}

/** A run goes on at the latest behind the last entry of the one before, and skips none. */
function expectInOrder(runs: readonly (readonly AuditEntry[])[]): void {
  const next = new Map<string, number>()
  for (const run of runs) {
    const ofRun = new Map<string, number>()
    for (const { log, index } of run) {
      const wanted = ofRun.get(log)
      if (wanted === undefined) expect(index).toBeLessThanOrEqual(next.get(log) ?? 0)
      else expect(index).toBe(wanted)
      ofRun.set(log, index + 1)
    }
    for (const [log, index] of ofRun) next.set(log, Math.max(index, next.get(log) ?? 0))
  }
}

async function loadOn(server: ShippedServer): Promise<void> {
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      for (let i = 0; i < DECISIONS / CALLERS; i += 1) await decide(server)
    }),
  )
}

/** What a killed server does not answer does not matter: its log tells what was done. */
async function decide(server: ShippedServer): Promise<void> {
  const body = { agent_id: 'agent:a', action: 'mail.send' }
  await server.call('POST', '/v1/decisions', { body }).catch(() => {})
}
