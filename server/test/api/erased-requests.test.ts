/** Erasing the requests of decisions: what goes, what stays, and what still works without the request. */
import { leafHash, parseCheckpoint, parseNote, parseProofFile, verifyInclusion } from '@countersign/audit-log'
import type { DecisionProof } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer } from '../running-server.js'
import { AGENT, conflict, Desk } from './desk.js'
import { everyItem, makeKey, succeed } from './refunds.js'
import { stored } from './stored.js'

let desk: Desk
beforeAll(async () => {
  desk = await Desk.open({ budget: { limit: 1_000_000 } })
})
afterAll(() => desk.stop())

const erase = (id: string, key?: string | null): Promise<Answer> =>
  desk.server.call('DELETE', `/v1/audit/requests/${id}`, { ...(key !== undefined && { key }) })
const eraseAgent = (query: string, options: object = {}): Promise<Answer> =>
  desk.server.call('DELETE', `/v1/audit/requests${query}`, options)
const entriesOf = (id: string) => everyItem(desk.server, `/v1/audit?decision_id=${id}`)

async function ask(amount: number, { agent_id = AGENT, name = '' } = {}) {
  const body = { agent_id, action: 'pay.create', resource: 'order:8812', context: { amount, to: 'Ada' } }
  const headers = name === '' ? {} : { 'Idempotency-Key': name }
  return desk.server.call('POST', '/v1/decisions', { key: desk.keyOf('asker'), body, headers })
}
const decide = async (amount: number, options?: Parameters<typeof ask>[1]) => succeed(ask(amount, options))

async function erased(amount: number) {
  const decision = await decide(amount)
  expect((await erase(decision.id)).status).toBe(204)
  return decision
}

const REFUSED = (status: string) => ({
  status: 409,
  body: {
    code: 'invalid_transition',
    current_status: status.replace(' ', '_'),
    detail: `The decision is ${status}; its request was erased, so it cannot be evaluated again.`,
  },
})

describe('a request that is erased', () => {
  it('is gone from the decision, and nothing else is', async () => {
    const { id, permit_token } = await decide(12.5)
    expect(permit_token).toMatch(/^ey/)
    const before = await desk.get(id)
    expect(before).toMatchObject({ context: { amount: 12.5, to: 'Ada' }, request_hash: expect.any(String) })
    const account = await desk.account()
    desk.clock.advance(1000)
    expect(await erase(id)).toMatchObject({ status: 204, body: undefined })
    const gone = { resource: null, context: null, request_hash: null }
    expect(await desk.get(id)).toEqual({ ...before, ...gone, request_erased_at: desk.clock.now().toISOString() })
    expect(await desk.get(id, 'asker')).not.toHaveProperty('permit_token')
    expect(await desk.account()).toEqual(account)
    const listed = async (query: string) =>
      (await everyItem(desk.server, `/v1/decisions?${query}`)).map((one) => one.id)
    expect(await listed(`agent_id=${AGENT}`)).toContain(id)
    expect(await listed(`request_hash=${before.request_hash}`)).toEqual([])
    expect(await listed('resource=order:8812')).not.toContain(id)
  })

  it('leaves one entry, and proofs of all entries of the decision', async () => {
    const { id } = await decide(13)
    const [created] = await entriesOf(id)
    await erase(id)
    const [entry, ...others] = await entriesOf(id)
    const self = await succeed(desk.server.call('GET', '/v1/keys/self'))
    expect(entry).toMatchObject({ type: 'request.erased', subject: id, agent_id: AGENT, actor: self.id })
    expect(entry.data).toEqual({ version: 2, request_erased_at: entry.at })
    expect(others).toEqual([created])
    const proof: DecisionProof = await succeed(desk.server.call('GET', `/v1/audit/proof?decision_id=${id}`))
    expect(proof.data.map(({ entry: { type } }) => type)).toEqual(['decision.created', 'request.erased'])
    for (const proven of proof.data) {
      const { index, proof: path, checkpoint } = parseProofFile(proven.inclusion?.proof as string)
      const { size, root } = parseCheckpoint(parseNote(checkpoint).text)
      verifyInclusion({ leaf: Buffer.from(leafHash(proven.entry), 'base64url'), index, size, proof: path }, root)
    }
  })

  it('is erased once, however often that is asked', async () => {
    const { id } = await erased(14)
    const before = await stored(desk.server)
    desk.clock.advance(1000)
    const answers = await Promise.all([erase(id), erase(id), erase(id)])
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
    expect(await stored(desk.server)).toEqual(before)
  })

  it('is erased once by calls at the same time', async () => {
    const { id } = await decide(15)
    const answers = await Promise.all(Array.from({ length: 8 }, () => erase(id)))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(204))
    expect(await desk.told(id)).toEqual(['request.erased'])
  })

  it('is not the same as any body: a repeated call is another one', async () => {
    const first = await ask(16, { name: 'once' })
    expect((await ask(16, { name: 'once' })).body).toEqual(first.body)
    await erase(first.body.id)
    expect(await ask(16, { name: 'once' })).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
    const named = { name: 'confirmed-once' }
    const confirmed = await succeed(desk.transition('confirm', first.body.id, { amount: 15.5 }, named))
    expect((await desk.transition('confirm', first.body.id, { amount: 15.5 }, named)).body).toEqual(confirmed)
  })

  it('is needed for no outcome: confirmations count to the cent', async () => {
    const before = await desk.account()
    const [one, other] = [await erased(20), await erased(30)]
    expect((await desk.account()).reserved).toBe(before.reserved + 50)
    expect(await succeed(desk.transition('confirm', one.id, { amount: 19.37 }))).toMatchObject({ resource: null })
    await succeed(desk.transition('reject', other.id))
    const after = await desk.account()
    expect(after.spent).toBeCloseTo(before.spent + 19.37, 6)
    expect(after.reserved).toBe(before.reserved)
    await succeed(desk.transition('correct', one.id, { result: 'confirmed', amount: 18.01 }))
    expect((await desk.account()).spent).toBeCloseTo(before.spent + 18.01, 6)
  })

  it('is needed for a review: it can be declined, and neither approved nor claimed', async () => {
    const waiting = await erased(400)
    expect(await desk.transition('approve', waiting.id)).toMatchObject(REFUSED('awaiting review'))
    expect((await succeed(desk.transition('decline', waiting.id))).status).toBe('declined')
    const approved = await desk.approved()
    await erase(approved.id)
    expect(await desk.transition('claim', approved.id, { holder: 'one' })).toMatchObject(REFUSED('approved'))
    expect((await succeed(desk.transition('decline', approved.id))).status).toBe('declined')
  })

  it('is needed for a permit: the holder of a claim gets none any more', async () => {
    const claimed = await desk.claimed()
    expect(claimed.permit_token).toMatch(/^ey/)
    await erase(claimed.id)
    const again = await succeed(desk.transition('claim', claimed.id, { holder: 'one' }))
    expect(again.status).toBe('authorized')
    expect(again).not.toHaveProperty('permit_token')
  })

  it('is not needed for a permit that was handed out before', async () => {
    const { id, permit_token } = await erased(17)
    expect(await succeed(desk.redeem(permit_token))).toMatchObject({ id, resource: null })
    expect((await desk.redeem(permit_token)).body.code).toBe('permit_already_used')
  })

  it('is needed for an explanation', async () => {
    const { id } = await erased(18)
    expect(await desk.server.call('GET', `/v1/decisions/${id}/explanation`)).toMatchObject({
      status: 404,
      body: { detail: 'The request of this decision was erased, so the decision can no longer be explained.' },
    })
  })

  it('is gone from the answer of a call that waits', async () => {
    const { id } = await decide(401)
    const waiting = desk.server.call('GET', `/v1/decisions/${id}?wait=30`)
    await erase(id)
    await succeed(desk.transition('decline', id))
    expect((await waiting).body).toMatchObject({ status: 'declined', context: null, resource: null })
  })

  it('has ended with its decision: that is recorded first', async () => {
    const { id } = await decide(19)
    desk.clock.advance(400_000)
    await erase(id)
    expect(await desk.told(id)).toEqual(['expired', 'request.erased'])
    expect((await succeed(desk.transition('confirm', id, { amount: 19 }))).status).toBe('confirmed')
  })
})

describe('races', () => {
  it.each(['confirm', 'approve', 'claim'] as const)('of erasing and %s leave the decision whole', async (verb) => {
    for (let round = 0; round < 3; round += 1) {
      const { id } =
        verb === 'confirm' ? await decide(21) : verb === 'approve' ? await decide(402) : await desk.approved()
      const [moved, gone] = await Promise.all(
        round % 2 === 0 ? [desk.transition(verb, id), erase(id)] : [erase(id), desk.transition(verb, id)].reverse(),
      )
      expect(gone?.status).toBe(204)
      const status = moved?.status as number
      expect([200, verb === 'confirm' ? 200 : 409]).toContain(status)
      expect(await desk.get(id)).toMatchObject({ context: null, resource: null, request_hash: null })
      const told = await entriesOf(id)
      expect(told.map(({ data }) => data.version)).toEqual(told.map((_, i) => told.length - i))
      const moves = told.filter(
        ({ type }) => type === `decision.${verb === 'claim' ? 'claimed' : `${verb}${verb === 'approve' ? 'd' : 'ed'}`}`,
      )
      expect(moves).toHaveLength(status === 200 ? 1 : 0)
      // What an approval that was refused had reserved is given back.
      if (verb === 'approve') await succeed(desk.transition('decline', id))
      if (verb === 'claim') await desk.transition(status === 200 ? 'reject' : 'decline', id)
    }
    expect((await desk.account()).reserved).toBe(await reservedByOpen())
  })
})

/** What the open decisions have reserved, as the list has it. */
async function reservedByOpen(): Promise<number> {
  const open = (await everyItem(desk.server, '/v1/decisions')).filter(({ status }) =>
    ['authorized', 'approved'].includes(status),
  )
  return open.reduce((sum, { budgets }) => sum + budgets[0].amount, 0)
}

describe('all requests of an agent', () => {
  it('are erased by one call, and those of others stay', async () => {
    const agent_id = 'agent:many'
    const many = await Promise.all(Array.from({ length: 70 }, () => decide(1, { agent_id })))
    await erase(many[0].id)
    const other = await decide(1, { agent_id: 'agent:other' })
    expect(await eraseAgent(`?agent_id=${agent_id}`)).toMatchObject({ status: 200, body: { agent_id, erased: 69 } })
    const listed = await everyItem(desk.server, `/v1/decisions?agent_id=${agent_id}`)
    expect(listed).toHaveLength(70)
    for (const { context, resource, request_hash } of listed)
      expect([context, resource, request_hash]).toEqual(Array(3).fill(null))
    expect((await everyItem(desk.server, `/v1/audit?type=request.erased&agent_id=${agent_id}`)).length).toBe(70)
    expect((await desk.get(other.id)).context).toEqual({ amount: 1, to: 'Ada' })
    expect((await eraseAgent(`?agent_id=${agent_id}`)).body).toEqual({ agent_id, erased: 0 })
    expect((await eraseAgent('?agent_id=agent:nobody')).body).toEqual({ agent_id: 'agent:nobody', erased: 0 })
  })

  it('are erased when the caller has left, while decisions go on', async () => {
    const agent_id = 'agent:left'
    await Promise.all(Array.from({ length: 70 }, () => decide(1, { agent_id })))
    const leaving = new AbortController()
    const headers = { Authorization: `Bearer ${desk.server.key}` }
    const url = `${desk.server.url}/v1/audit/requests?agent_id=${agent_id}`
    const left = fetch(url, { method: 'DELETE', headers, signal: leaving.signal })
    const isBegun = async () => (await entries(agent_id)).length > 0 || undefined
    await until('the first erasure', isBegun)
    leaving.abort()
    await expect(left).rejects.toThrow()
    await decide(1, { agent_id: 'agent:other' })
    await until('all erasures', async () => (await entries(agent_id)).length === 70 || undefined)
  })

  it('are erased as long as the key may', async () => {
    const agent_id = 'agent:revoked'
    await Promise.all(Array.from({ length: 70 }, () => decide(1, { agent_id })))
    const { id, key } = await makeKey(desk.server, ['audit:write'])
    const answer = eraseAgent(`?agent_id=${agent_id}`, { key })
    await until('the first erasure', async () => (await entries(agent_id)).length > 0 || undefined)
    await succeed(desk.server.call('DELETE', `/v1/keys/${id}`))
    const { status } = await answer
    const erasedThen = (await entries(agent_id)).length
    expect(status).toBe(erasedThen === 70 ? 200 : 401)
    expect((await eraseAgent(`?agent_id=${agent_id}`)).body).toEqual({ agent_id, erased: 70 - erasedThen })
  })

  it('are erased by the next call when the server stops', async () => {
    const agent_id = 'agent:stopped'
    await Promise.all(Array.from({ length: 70 }, () => decide(1, { agent_id })))
    const answer = eraseAgent(`?agent_id=${agent_id}`).catch(() => null)
    await until('the first erasure', async () => (await entries(agent_id)).length > 0 || undefined)
    desk.server = await desk.server.restart()
    // It may have been done, or the connection was closed.
    expect([200, 503, undefined]).toContain((await answer)?.status)
    const erasedThen = (await entries(agent_id)).length
    expect((await eraseAgent(`?agent_id=${agent_id}`)).body).toEqual({ agent_id, erased: 70 - erasedThen })
    expect((await entries(agent_id)).length).toBe(70)
  })
})

const entries = (agent_id: string) => everyItem(desk.server, `/v1/audit?type=request.erased&agent_id=${agent_id}`)

describe('400', () => {
  it('is told of a parameter that is missing, unknown or wrong', async () => {
    const { id } = await decide(22)
    const before = await stored(desk.server)
    for (const query of [
      '',
      '?agent_id=',
      '?agent_id=a%20b',
      '?agent=x',
      `?agent_id=${AGENT}&all=1`,
      `?agent_id=a&agent_id=b`,
    ])
      expect(await eraseAgent(query), query).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect((await erase(`${id}?agent_id=${AGENT}`)).status).toBe(400)
    expect(await stored(desk.server)).toEqual(before)
  })
})

describe('401, 403 and 404', () => {
  it('are told before anything is erased', async () => {
    const { id } = await decide(23)
    const { key } = await makeKey(desk.server, ['audit:read', 'decisions:write', 'decisions:read', 'reviews:write'])
    const before = await stored(desk.server)
    expect((await erase(id, null)).status).toBe(401)
    expect((await eraseAgent(`?agent_id=${AGENT}`, { key: null })).status).toBe(401)
    const forbidden = { status: 403, body: { code: 'insufficient_scope' } }
    expect(await erase(id, key)).toMatchObject(forbidden)
    expect(await eraseAgent(`?agent_id=${AGENT}`, { key })).toMatchObject(forbidden)
    for (const unknown of ['dec_01kagx3v5ne8sr6w1y6gqk4t2h', 'dec_x', '%2e%2e', id.toUpperCase()])
      expect(await erase(unknown), unknown).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await stored(desk.server)).toEqual(before)
  })
})

it('an expiry needs no request', async () => {
  const { id } = await erased(403)
  desk.clock.advance(2 * 86_400_000)
  expect((await desk.get(id)).status).toBe('expired')
  expect(await desk.transition('decline', id)).toMatchObject(conflict('expired'))
})
