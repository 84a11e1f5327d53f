import { describe, expect, it } from 'vitest'
import type { JsonSchema, Schemas } from '../../api/openapi.js'
import { exampleOf } from './example.js'
import { constraintsOf, membersOf, objectsIn, typeOf, valuesOf } from './schema.js'

const SCHEMAS: Schemas = {
  Tree: {
    type: 'object',
    properties: {
      name: { type: 'string', examples: ['oak'] },
      height: { type: 'number', exclusiveMinimum: 0 },
      children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } },
      owner: { anyOf: [{ type: 'string', enum: ['kim', 'lee'] }, { type: 'null' }] },
      id: { type: 'string', readOnly: true },
    },
    required: ['name'],
  },
}
const TREE: JsonSchema = { $ref: '#/components/schemas/Tree' }

describe('a schema in words', () => {
  it.each<[JsonSchema, string]>([
    [{ type: 'string' }, 'string'],
    [{ type: ['string', 'null'] }, 'string or null'],
    [{ anyOf: [TREE, { type: 'null' }] }, 'Tree or null'],
    [{ type: 'array', items: TREE }, 'list of Tree'],
    [{ const: 'true' }, '"true"'],
    [{}, 'any JSON'],
  ])('%j is %s', (schema, expected) => {
    expect(typeOf(schema)).toBe(expected)
  })

  it.each<[JsonSchema, string[]]>([
    [{ minLength: 1, maxLength: 256 }, ['1 to 256 characters']],
    [{ minItems: 1 }, ['at least 1 item']],
    [{ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, []],
    [{ anyOf: [{ exclusiveMinimum: 0, maximum: 5 }, { type: 'null' }] }, ['up to 5', 'above 0']],
    [{ pattern: '^a$', default: 3 }, ['matches `^a$`', 'default `3`']],
  ])('%j allows %j', (schema, expected) => {
    expect(constraintsOf(schema)).toEqual(expected)
  })

  it('lists the values of a list and of each form', () => {
    expect(valuesOf({ items: { enum: ['a', 'b'] } })).toEqual(['a', 'b'])
    expect(valuesOf({ anyOf: [{ enum: ['kim'] }, { type: 'null' }] })).toEqual(['kim'])
  })

  it('leaves out of what is sent what the server sets', () => {
    const names = (isSent: boolean) => membersOf(SCHEMAS.Tree as JsonSchema, isSent).map(({ name }) => name)
    expect(names(false)).toEqual([...names(true), 'id'])
  })

  it('finds the objects behind lists, forms and references, each once', () => {
    const list: JsonSchema = { anyOf: [{ type: 'array', items: TREE }, { type: 'null' }] }
    expect(objectsIn(list, SCHEMAS, true)).toEqual([['Tree', SCHEMAS.Tree]])
  })
})

describe('an example', () => {
  it('has every member, and ends where a schema holds itself', () => {
    expect(exampleOf(TREE, SCHEMAS)).toEqual({ name: 'oak', height: 1, children: [{}], owner: 'kim', id: '…' })
  })
})
