/** What callers of a server did before an operator opens a runbook, and whether all of it is still there. */
import { until } from '@countersign/testkit'
import { expect } from 'vitest'
import type { Answer } from './call.js'
import { readAccounts } from './recomputed-accounts.js'
import { commandsOf, Operator } from './runbook.js'
import type { ShippedServer } from './shipped-server.js'

const POLICY = {
  name: 'pay',
  rules: [{ action: 'pay.create', effect: 'allow' }],
  budget: { limit: 100, unit: 'EUR', period: 'total' },
}

export interface Life {
  /** Of 10, confirmed with 9. */
  readonly confirmed: Answer['body']
  /** Of 5, still open. */
  readonly open: Answer['body']
}

/** An operator whose server was used, and who has just made a backup of it. */
export async function backedUp() {
  const operator = new Operator()
  const server = await operator.serve()
  const life = await live(server)
  await signed(server)
  for (const block of commandsOf('Back up', 1)) operator.succeed(block)
  return { operator, server, life }
}

export async function live(server: ShippedServer): Promise<Life> {
  expect((await server.call('POST', '/v1/policies', { body: POLICY })).status).toBe(201)
  const { id } = await pay(server, 10, 'first')
  const confirmed = await server.call('POST', `/v1/decisions/${id}/confirm`, { body: { amount: 9 } })
  expect(confirmed.status).toBe(200)
  return { confirmed: confirmed.body, open: await pay(server, 5, 'second') }
}

const decide = (server: ShippedServer, amount: number, key: string) =>
  server.call('POST', '/v1/decisions', {
    body: { agent_id: 'agent:payer', action: 'pay.create', context: { amount } },
    headers: { 'Idempotency-Key': key },
  })

export async function pay(server: ShippedServer, amount: number, key: string): Promise<Answer['body']> {
  const { status, body } = await decide(server, amount, key)
  expect({ status, effect: body.effect }).toEqual({ status: 200, effect: 'allow' })
  return body
}

/** Spent and reserved. */
export async function balanceOf(server: ShippedServer): Promise<readonly [number, number]> {
  const { body } = await server.call('GET', '/v1/budgets')
  expect(body.data).toHaveLength(1)
  return [body.data[0].spent, body.data[0].reserved]
}

/** Decisions, balance and repeated calls are those of this life and of nothing else; accounts are the sums of decisions. */
export async function expectAlive(server: ShippedServer, dataDir: string, { confirmed, open }: Life): Promise<void> {
  expect(await balanceOf(server)).toEqual([9, 5])
  for (const { id, status } of [confirmed, open])
    expect((await server.call('GET', `/v1/decisions/${id}`)).body).toMatchObject({ id, status })
  const again = await decide(server, 5, 'second')
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(again.body.id).toBe(open.id)
  expect(await balanceOf(server)).toEqual([9, 5])
  const { stored, recomputed } = readAccounts(dataDir)
  expect(stored).toEqual(recomputed)
}

/** All entries are under a checkpoint. */
export const signed = (server: ShippedServer): Promise<string> =>
  until('a checkpoint over all entries', async () => {
    const { data: entries } = (await server.call('GET', '/v1/audit?limit=1')).body
    const { status, body } = await server.call('GET', '/v1/audit/checkpoints')
    const { log, index } = entries[0]
    const isUnder = status === 200 && body.data.some((one: Answer['body']) => one.log === log && one.size > index)
    return isUnder ? (log as string) : undefined
  })

/** What the log of a start says of signing keys that are not those of the server. */
export const complaintsOfKeys = (server: ShippedServer) =>
  server.lines.filter(({ msg }) => String(msg).includes('the signing keys are not those that this server has had'))
