import { describe, expect, it } from 'vitest'
import type { OpenApiDocument } from '../../api/openapi.js'
import { hasScopes, isFound, operationsOf } from './openapi.js'

const DOCUMENT: OpenApiDocument = {
  info: { title: 'Countersign' },
  components: { schemas: {} },
  paths: {
    '/v1/decisions/{id}': {
      get: {
        operationId: 'decisions_get',
        summary: 'Read a decision.',
        description: 'Scope: decisions:read or decisions:write.',
        tags: ['decisions'],
        responses: {
          '200': { description: 'The decision.', content: { 'application/json': { schema: { type: 'object' } } } },
          '404': { description: '`not_found`: Nothing was found here. `gone`: It was removed.' },
        },
      },
    },
  },
}

describe('an operation of the document', () => {
  const [operation] = operationsOf(DOCUMENT)
  if (operation === undefined) throw new Error('There is none.')

  it('says what it needs, answers and refuses', () => {
    expect(operation).toMatchObject({
      id: 'decisions_get',
      method: 'GET',
      scopes: { names: ['decisions:read', 'decisions:write'], needsAll: false },
      body: null,
      answer: { status: 200, mediaType: 'application/json' },
      problems: [
        { status: 404, code: 'not_found', title: 'Nothing was found here.' },
        { status: 404, code: 'gone', title: 'It was removed.' },
      ],
      isChange: false,
    })
  })

  it('is found by its words, in any order', () => {
    expect(isFound(operation, '')).toBe(true)
    expect(isFound(operation, 'GET Decision')).toBe(true)
    expect(isFound(operation, 'decisions:write read')).toBe(true)
    expect(isFound(operation, 'delete')).toBe(false)
  })
})

describe('the scopes of a key', () => {
  it.each<[string[], boolean, string[], boolean]>([
    [[], true, [], true],
    [['a:read', 'b:read'], true, ['a:read'], false],
    [['a:read', 'b:read'], false, ['b:read'], true],
    [['a:read', 'b:read'], true, ['*'], true],
  ])('%j (all: %s) are in %j: %s', (names, needsAll, held, expected) => {
    expect(hasScopes({ names, needsAll }, held)).toBe(expected)
  })
})
