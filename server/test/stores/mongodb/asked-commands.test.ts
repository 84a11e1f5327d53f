/** What the store asks of a MongoDB, as the driver sends it, is what docs/storage.md names. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { seededRandom, until } from '@countersign/testkit'
import { afterAll, expect, it } from 'vitest'
import { Database } from '#server/stores/mongodb/connection/database'
import { inspectMongoStore } from '#server/stores/mongodb/inspect'
import { listenForSignals } from '#server/stores/mongodb/signals'
import { noteCommands } from './asked-commands.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'
import { Cuts } from './relay-cuts.js'
import { makeEveryWrite } from './relay-every-write.js'

const PAGE = new URL('../../../../docs/storage.md', import.meta.url)
const NAME = `countersign-asked-${randomBytes(6).toString('hex')}`

const asked = noteCommands()
afterAll(() => dropDatabase(NAME))

it('docs/storage.md names what a MongoDB is asked for, and nothing else', async () => {
  const cuts = new Cuts(seededRandom(1))
  cuts.isFaulty = false
  await makeEveryWrite(cuts, mongoUrl(NAME))
  await listen()
  await inspectMongoStore(mongoUrl(NAME))
  const sorted = Object.entries(asked).map(([row, names]) => [row, [...names].sort()])
  expect(Object.fromEntries(sorted)).toEqual(namedInPage())
})

/** As a server listens for the signals of others. */
async function listen(): Promise<void> {
  const database = await Database.open(mongoUrl(NAME))
  const stop = listenForSignals(database, () => {})
  await until('a change stream', () => asked['Aggregation stages'].has('$changeStream') || undefined)
  await stop()
  await database.close()
}

/** The rows of its table: what each begins with, and the names in it. */
function namedInPage(): Record<string, string[]> {
  const [, section = ''] = readFileSync(PAGE, 'utf8').split('## What a MongoDB must have\n')
  const rows = section.split('\n###')[0]?.matchAll(/^\| ([A-Z][^|]*) \| (`.*`) \|$/gm) ?? []
  return Object.fromEntries([...rows].map(([, row = '', text = '']) => [row, namesIn(text)]))
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name).sort()
}
