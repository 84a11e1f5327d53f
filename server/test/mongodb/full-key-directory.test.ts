import { randomBytes } from 'node:crypto'
import { MongoClient } from 'mongodb'
import { afterAll, afterEach, expect, it } from 'vitest'
import type { StoredKey } from '#server/ports/store/documents'
import { openMongoStore } from '#server/stores/mongodb/open'
import { type Answer, runServer } from '../running-server.js'
import { FIRST, fillDirectory, keyEntryOf, NEW, wideEntry } from '../stores/mongodb/full-directories.js'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'

const name = `countersign-bounds-${randomBytes(6).toString('hex')}`
const client = new MongoClient(mongoUrl('admin'))
afterEach(() => dropDatabase(name))
afterAll(() => client.close())

it('the API says limit_reached at the bound of keys, goes on deciding, and a key that is revoked makes room', async () => {
  const server = await runServer({ settings: { mongodbUrl: mongoUrl(name) }, parts: {} })
  const store = await openMongoStore({ url: mongoUrl(name) })
  const call = (method: string, path: string, body?: object) => server.call(method, path, { body })
  try {
    const { body: mine } = await call('GET', '/v1/keys/self')
    const [own] = (await store.keys.load()).filter(({ id }) => id === mine.id)
    await fillDirectory(client, name, 'keys', NEW - 1000, (number, padding) =>
      number === FIRST ? [mine.id, { ...keyEntryOf(own as StoredKey) }] : wideEntry(number, padding),
    )
    const create = () => call('POST', '/v1/keys', { name: 'one more', scopes: ['audit:read'], agents: null })
    const answers: Answer[] = []
    while (answers.at(-1)?.status !== 409) answers.push(await create())
    expect(answers.at(-1)?.body.code).toBe('limit_reached')
    expect(answers.length).toBeGreaterThan(1)
    const decided = await call('POST', '/v1/decisions', { agent_id: 'agent:a', action: 'pay.create' })
    expect(decided.status).toBe(200)
    expect((await call('DELETE', `/v1/keys/${answers[0]?.body.id}`)).status).toBe(204)
    expect((await create()).status).toBe(201)
  } finally {
    await store.close()
    await server.stop()
  }
})
