import { answerJson, answerProblem } from '@countersign/testkit'
import { expect, it } from 'vitest'
import { describeTransports, rejectionOf } from './transports.js'

const pageOf = (ids: readonly string[], next_cursor: string | null) =>
  answerJson(200, { data: ids.map((id) => ({ id })), next_cursor })

async function idsOf(list: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of list) ids.push(id)
  return ids
}

describeTransports('pages', (rig) => {
  it('walks every page with the same filters', async () => {
    const { stub, open } = rig()
    stub.answer(pageOf(['dec_3', 'dec_2'], 'c2'), pageOf([], 'c3'), pageOf(['dec_1'], null))
    expect(await idsOf(open().decisions.list({ effect: 'deny', limit: 2 }))).toEqual(['dec_3', 'dec_2', 'dec_1'])
    expect(stub.requests.map(({ url }) => url)).toEqual([
      '/v1/decisions?effect=deny&limit=2',
      '/v1/decisions?effect=deny&limit=2&cursor=c2',
      '/v1/decisions?effect=deny&limit=2&cursor=c3',
    ])
  })

  it('keeps its filters when the caller changes the object that it gave', async () => {
    const { stub, open } = rig()
    stub.answer(pageOf(['dec_2'], 'c2'), pageOf(['dec_1'], null))
    const query: { effect: 'deny' | 'allow' } = { effect: 'deny' }
    const list = open().decisions.list(query)
    query.effect = 'allow'
    expect(await idsOf(list)).toEqual(['dec_2', 'dec_1'])
    expect(stub.requests.map(({ url }) => url)).toEqual([
      '/v1/decisions?effect=deny',
      '/v1/decisions?effect=deny&cursor=c2',
    ])
  })

  it('asks for nothing until it is walked, and for no page beyond the one it is left in', async () => {
    const { stub, open } = rig()
    stub.answer(pageOf(['pol_2', 'pol_1'], 'c2'))
    const list = open().policies.list()
    expect(stub.connectionCount()).toBe(0)
    for await (const { id } of list) if (id === 'pol_2') break
    expect(stub.requests).toHaveLength(1)
  })

  it('begins again each time it is walked', async () => {
    const { stub, open } = rig()
    stub.answer(pageOf(['pol_1'], null))
    const list = open().policies.list()
    expect([await idsOf(list), await idsOf(list)]).toEqual([['pol_1'], ['pol_1']])
  })

  it('begins at the cursor that it is given', async () => {
    const { stub, open } = rig()
    stub.answer(pageOf(['aud_1'], null))
    await idsOf(open().audit.list({ cursor: 'c9' }))
    expect(stub.requests[0]?.url).toBe('/v1/audit?cursor=c9')
  })

  it('gives one page with the cursor of the next', async () => {
    const { stub, open } = rig()
    stub.answer(pageOf(['key_1'], 'c2'))
    expect(await open().keys.list({ limit: 1 }).page()).toEqual({ data: [{ id: 'key_1' }], next_cursor: 'c2' })
    expect(stub.requests).toHaveLength(1)
  })

  it('throws where a page cannot be had, after the items before it', async () => {
    const { stub, open } = rig()
    stub.answer(pageOf(['pol_2'], 'c2'), answerProblem(400, 'invalid_cursor'))
    const seen: string[] = []
    const walk = async (): Promise<void> => {
      for await (const { id } of open().policies.list()) seen.push(id)
    }
    expect(await rejectionOf(walk())).toMatchObject({ code: 'invalid_cursor' })
    expect(seen).toEqual(['pol_2'])
  })

  it('does not walk a cursor that leads to itself', async () => {
    const { stub, open } = rig()
    stub.answer(pageOf(['pol_1'], 'c2'))
    expect(await rejectionOf(idsOf(open().policies.list()))).toMatchObject({ kind: 'bad_answer' })
    expect(stub.requests).toHaveLength(2)
  })

  it.each([{}, { data: {}, next_cursor: null }, { data: [] }, { data: [], next_cursor: 2 }])(
    'does not take %j for a page',
    async (answer) => {
      const { stub, open } = rig()
      stub.answer(answerJson(200, answer))
      expect(await rejectionOf(open().agents.list().page())).toMatchObject({ kind: 'bad_answer' })
    },
  )
})
