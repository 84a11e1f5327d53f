/** kill -9 in the middle of a start that makes a store: the next start makes whole what was begun, or refuses as before. */
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SEED, seededRandom, stress, until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { call, listAll } from './call.js'
import { endChildren } from './child.js'
import { CHOSEN_KEY, countersign, MAIN, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

/** What a first start makes, in order. */
const STEPS = ['countersign.db', 'signing-keys.json', 'countersign.db-wal', 'bootstrap-key']

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

describe('kill -9 while the server starts for the first time', () => {
  it(`leaves nothing that the next start cannot go on from, ${stress.server_kills} times over`, async () => {
    console.log(`SEED=${SEED}`)
    const random = seededRandom(SEED)
    for (let round = 0; round < stress.server_kills; round += 1) {
      const dataDir = newDirectory()
      const step = STEPS[round % STEPS.length] as string
      const delayMs = random() * 30
      const starting = countersign(['serve'], { env: { PORT: '0', DATA_DIR: dataDir } })
      await until(step, () => existsSync(join(dataDir, step)) || undefined)
      setTimeout(() => starting.process.kill('SIGKILL'), delayMs)
      await starting.end()

      const server = await ShippedServer.start({ dataDir, env: { COUNTERSIGN_BOOTSTRAP_KEY: '' } })
      const key = readFileSync(join(dataDir, 'bootstrap-key'), 'utf8').trim()
      const keys = await listAll(server.url, '/v1/keys', key)
      expect(keys.map(({ name, scopes }) => ({ name, scopes }))).toEqual([{ name: 'bootstrap', scopes: ['*'] }])
      const { body: jwks } = await call(server.url, 'GET', '/.well-known/jwks.json')
      const told = await listAll(server.url, '/v1/audit', key)
      const expected = [keys[0].id, ...jwks.keys.map(({ kid }: { kid: string }) => kid)]
      expect(told.map(({ subject }) => subject).sort()).toEqual(expected.sort())
      expect(expected).toHaveLength(3)
      console.log(`killed ${delayMs.toFixed(1)} ms after ${step} was there`)
      await server.kill()
    }
  })
})

describe('kill -9 while a server accepts that its database is gone', () => {
  it(`leaves a store that is refused as before, or accepted, ${stress.accepted_losses} times over`, async () => {
    console.log(`SEED=${SEED}`)
    const random = seededRandom(SEED)
    const former = newDirectory()
    await (await ShippedServer.start({ dataDir: former })).stop()
    const { newest_entry: lost } = JSON.parse(readFileSync(join(former, 'signing-keys.json'), 'utf8'))
    for (let round = 0; round < stress.accepted_losses; round += 1) {
      const dataDir = newDirectory()
      cpSync(join(former, 'signing-keys.json'), join(dataDir, 'signing-keys.json'))
      const env = { PORT: '0', DATA_DIR: dataDir, COUNTERSIGN_BOOTSTRAP_KEY: CHOSEN_KEY }
      const starting = countersign(['serve', '--accept-loss'], { env })
      await until('the database', () => existsSync(join(dataDir, 'countersign.db')) || undefined)
      const delayMs = random() * 300
      setTimeout(() => starting.process.kill('SIGKILL'), delayMs)
      await starting.end()

      const next = countersign(['serve'], { env })
      const isAccepted = await until('readiness or a refusal', () =>
        next.stdout.includes('"url"') ? true : next.ending && false,
      )
      if (!isAccepted) {
        expect(JSON.parse(next.stderr).msg).toContain('countersign serve --accept-loss')
        expect(next.ending).toEqual({ code: 1, signal: null })
      }
      await next.kill()
      const args = [MAIN, 'serve', ...(isAccepted ? [] : ['--accept-loss'])]
      const server = await ShippedServer.start({ dataDir, program: { command: process.execPath, args } })
      const losses = await listAll(server.url, '/v1/audit?type=store.loss_accepted', server.key)
      expect(losses.length).toBeGreaterThan(0)
      for (const { subject, data } of losses) expect([subject, data.index]).toEqual([lost.log, lost.index])
      console.log(
        `killed ${delayMs.toFixed(1)} ms after the database was there: ${isAccepted ? 'accepted' : 'refused'}`,
      )
      await server.kill()
    }
  })
})
