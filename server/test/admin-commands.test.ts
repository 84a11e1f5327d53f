/** Admin commands that create keys at a running server: each creates one key, whatever comes between. */
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readResult, submitCommand, withdrawCommand } from '#server/adapters/admin-command-spool/spool'
import { generateKeyText, secretOf } from '#server/api-key-text'
import type { CommandResult, CreateKeyCommand } from '#server/ports/admin-command'
import { type RunningServer, runServer } from './running-server.js'
import { openStoreWith } from './store-with.js'

let server: RunningServer
beforeEach(async () => {
  server = await runServer()
})
afterEach(() => server.stop())

const commandFor = (text: string, more: Partial<CreateKeyCommand['key']> = {}): CreateKeyCommand => ({
  key: { name: 'made', scopes: ['*'], ...more },
  secret: secretOf(text),
})

/** Submits a command and waits for its result. */
async function resultOf(command: CreateKeyCommand): Promise<CommandResult | null> {
  const path = await submitCommand(server.dataDir, command)
  await until('a result', async () => (await readResult(path)) ?? undefined)
  return withdrawCommand(path)
}

async function createdKeys(): Promise<{ id: string; name: string }[]> {
  const { body } = await server.call('GET', '/v1/keys')
  return body.data.filter(({ name }: { name: string }) => name === 'made')
}

const statusOf = async (key: string) => (await server.call('GET', '/v1/keys/self', { key })).status

it('a command that runs again after a crash creates no second key, and does not bring back a revoked one', async () => {
  const text = generateKeyText()
  expect(await resultOf(commandFor(text))).toEqual({ done: true })
  expect(await resultOf(commandFor(text))).toEqual({ done: true })
  const keys = await createdKeys()
  expect(keys).toHaveLength(1)
  expect(await statusOf(text)).toBe(200)
  expect((await server.call('DELETE', `/v1/keys/${keys[0]?.id}`)).status).toBe(204)
  expect(await resultOf(commandFor(text))).toEqual({ done: true })
  expect(await statusOf(text)).toBe(401)
  server = await server.restart()
  expect(await resultOf(commandFor(text))).toEqual({ done: true })
  expect(await statusOf(text)).toBe(401)
  expect(await createdKeys()).toHaveLength(1)
})

it('a command that cannot be executed is refused with the reason, and creates no key', async () => {
  const refused = { refused: 'expires_at must be in the future.' }
  expect(await resultOf(commandFor(generateKeyText(), { expires_at: '2020-01-01T00:00:00.000Z' }))).toEqual(refused)
  expect(await createdKeys()).toEqual([])
  const told = server.logged.filter(({ message }) => message === 'an admin command could not be executed')
  // It is the operator who asked for what cannot be: there is no fault to find in a stack.
  expect(told).toMatchObject([{ level: 'warn', fields: { reason: refused.refused } }])
})

it('a command waits while the store does not write', async () => {
  let isBroken = false
  const openStore = (dataDir: string) =>
    openStoreWith(dataDir, (store) => ({
      commit: (records) => (isBroken ? Promise.reject(new Error('broken')) : store.commit(records)),
    }))
  server = await server.restart({ parts: { openStore } })
  isBroken = true
  const text = generateKeyText()
  const path = await submitCommand(server.dataDir, commandFor(text))
  await until(
    'a failure in the log',
    () => server.logged.some(({ message }) => message.startsWith('an admin command')) || undefined,
  )
  expect(await readResult(path)).toBeNull()
  isBroken = false
  expect(await until('a result', async () => (await readResult(path)) ?? undefined)).toEqual({ done: true })
  expect(await statusOf(text)).toBe(200)
})
