import { ConditionsSchema } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { schemas } from './schemas.js'

/** Places where a schema says nothing at all: a reader of the API reference would learn nothing there. */
function emptyPlaces(schema: unknown, path = ''): string[] {
  if (Array.isArray(schema)) return schema.flatMap((item, index) => emptyPlaces(item, `${path}/${index}`))
  if (typeof schema !== 'object' || schema === null) return []
  if (Object.keys(schema).length === 0) return [path]
  return Object.entries(schema).flatMap(([key, item]) =>
    key === 'default' || key === 'examples' ? [] : emptyPlaces(item, `${path}/${key}`),
  )
}

describe('every schema has a form in JSON Schema that says something everywhere', () => {
  it('finds the schemas', () => {
    expect(schemas.length).toBeGreaterThan(30)
  })

  for (const [name, schema] of schemas) {
    it(`${name} as a request`, () => {
      expect(emptyPlaces(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))).toEqual([])
    })
  }

  // The documents that are only ever sent drop what the server adds: they have no form as an answer.
  const sentOnly = new Set(['PolicyDocumentSchema', 'SimulatedPolicySchema', 'SimulateRequestSchema'])
  for (const [name, schema] of schemas.filter(([name]) => !sentOnly.has(name))) {
    it(`${name} as an answer`, () => {
      expect(emptyPlaces(z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }))).toEqual([])
    })
  }

  it('names the operators of a condition', () => {
    const { $defs } = z.toJSONSchema(ConditionsSchema, { unrepresentable: 'any' })
    const [operators] = Object.values($defs?.Conditions?.patternProperties ?? {})
    expect(operators).toMatchObject({
      properties: { $lte: { anyOf: [{ type: ['string', 'number'] }, { properties: { $ref: { type: 'string' } } }] } },
      additionalProperties: false,
    })
  })
})
