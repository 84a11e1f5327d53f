import { describe, expect, expectTypeOf, it } from 'vitest'
import type { z } from 'zod'
import type { Agent, AgentCreate } from '../src/index.js'
import { type AnswerOf, OPERATIONS, type Operation, type ParamsOf, type SentBodyOf } from '../src/operations/index.js'

const TABLE = Object.entries<Operation>(OPERATIONS)

describe('the table of operations', () => {
  it.each(TABLE)('%s describes the parameters of its path, in their order', (_name, { path, params = {} }) => {
    expect(Object.keys(params)).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
  })

  it('has each method of a path once', () => {
    const endpoints = TABLE.map(([, { method, path }]) => `${method} ${path}`)
    expect(new Set(endpoints).size).toBe(TABLE.length)
  })

  it('takes no body with a GET, and an Idempotency-Key with a POST alone', () => {
    for (const [name, { method, body, takesKey }] of TABLE) {
      if (method === 'GET') expect(body, name).toBeUndefined()
      if (takesKey === true) expect(method, name).toBe('POST')
    }
  })

  it('gives a page where it takes a cursor', () => {
    for (const [name, { isPage = false, query }] of TABLE) expect('cursor' in (query?.shape ?? {}), name).toBe(isPage)
  })

  it('takes any form of RFC 3339 where a query has a time', () => {
    const isTaken = (schema: z.ZodType, text: string) => schema.safeParse(text).success
    const times = TABLE.flatMap(([name, { query }]) =>
      Object.entries<z.ZodType>(query?.shape ?? {}).flatMap(([member, schema]) =>
        isTaken(schema, '2026-11-21T10:00:00.000Z') && !isTaken(schema, 'no time')
          ? [[`${name} ${member}`, schema] as const]
          : [],
      ),
    )
    expect(times.length).toBeGreaterThan(5)
    const forms = ['2026-11-21t10:00:00z', '2026-11-21T12:00:00.5+02:00', '2026-11-21T10:00:00.123456Z']
    for (const [place, schema] of times)
      for (const form of forms) expect(isTaken(schema, form), `${place} ${form}`).toBe(true)
  })

  it('has the types of its schemas', () => {
    expectTypeOf<AnswerOf<'agents.get'>>().toEqualTypeOf<Agent>()
    expectTypeOf<AnswerOf<'agents.list'>['data'][number]>().toEqualTypeOf<Agent>()
    expectTypeOf<AnswerOf<'agents.delete'>>().toBeUndefined()
    expectTypeOf<SentBodyOf<'agents.create'>>().toEqualTypeOf<AgentCreate>()
    expectTypeOf<SentBodyOf<'agents.get'>>().toBeUndefined()
    expectTypeOf<keyof ParamsOf<'webhooks.retry'>>().toEqualTypeOf<'id' | 'delivery_id'>()
    // @ts-expect-error no operation has this name
    expectTypeOf<AnswerOf<'agents.rename'>>().toBeUndefined()
  })
})
