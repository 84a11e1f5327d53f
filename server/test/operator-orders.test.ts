/** Keys that the operator orders from a running server: each order makes one key, whatever comes between. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { leaveOrder, readAnswer, withdrawOrder } from '#server/adapters/operator-inbox/orders'
import { generateKeyText, secretOf } from '#server/api-key-text'
import type { KeyOrder, OrderAnswer } from '#server/ports/operator-order'
import { until } from './process/until.js'
import { type RunningServer, runServer } from './running-server.js'
import { openStoreWith } from './store-with.js'

let server: RunningServer
beforeEach(async () => {
  server = await runServer()
})
afterEach(() => server.stop())

const orderOf = (text: string, more: Partial<KeyOrder['key']> = {}): KeyOrder => ({
  key: { name: 'ordered', scopes: ['*'], ...more },
  secret: secretOf(text),
})

/** Leaves an order, and what the server made of it. */
async function answerTo(order: KeyOrder): Promise<OrderAnswer | null> {
  const path = await leaveOrder(server.dataDir, order)
  await until('an answer', async () => (await readAnswer(path)) ?? undefined)
  return withdrawOrder(path)
}

async function orderedKeys(): Promise<{ id: string; name: string }[]> {
  const { body } = await server.call('GET', '/v1/keys')
  return body.data.filter(({ name }: { name: string }) => name === 'ordered')
}

const statusOf = async (key: string) => (await server.call('GET', '/v1/keys/self', { key })).status

it('an order that comes again after a crash makes no second key, and brings a revoked one not back', async () => {
  const text = generateKeyText()
  expect(await answerTo(orderOf(text))).toEqual({ done: true })
  expect(await answerTo(orderOf(text))).toEqual({ done: true })
  const keys = await orderedKeys()
  expect(keys).toHaveLength(1)
  expect(await statusOf(text)).toBe(200)
  expect((await server.call('DELETE', `/v1/keys/${keys[0]?.id}`)).status).toBe(204)
  expect(await answerTo(orderOf(text))).toEqual({ done: true })
  expect(await statusOf(text)).toBe(401)
  server = await server.restart()
  expect(await answerTo(orderOf(text))).toEqual({ done: true })
  expect(await statusOf(text)).toBe(401)
  expect(await orderedKeys()).toHaveLength(1)
})

it('an order that cannot be carried out is answered by the reason, and makes no key', async () => {
  const refused = { refused: 'expires_at has to be ahead.' }
  expect(await answerTo(orderOf(generateKeyText(), { expires_at: '2020-01-01T00:00:00.000Z' }))).toEqual(refused)
  expect(await orderedKeys()).toEqual([])
  const told = server.logged.filter(({ message }) => message === 'an order of the operator could not be carried out')
  expect(told).toHaveLength(1)
})

it('an order waits while the store does not write', async () => {
  let isBroken = false
  const openStore = (dataDir: string) =>
    openStoreWith(dataDir, (store) => ({
      commit: (records) => (isBroken ? Promise.reject(new Error('broken')) : store.commit(records)),
    }))
  server = await server.restart({ parts: { openStore } })
  isBroken = true
  const text = generateKeyText()
  const path = await leaveOrder(server.dataDir, orderOf(text))
  await until(
    'a failure in the log',
    () => server.logged.some(({ message }) => message.startsWith('an order of the operator')) || undefined,
  )
  expect(await readAnswer(path)).toBeNull()
  isBroken = false
  expect(await until('an answer', async () => (await readAnswer(path)) ?? undefined)).toEqual({ done: true })
  expect(await statusOf(text)).toBe(200)
})
