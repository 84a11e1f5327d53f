import { describe, expect, it } from 'vitest'
import type { OpenApiDocument } from '../../api/openapi'
import { pathsIn, placeAt, suggestionsAt } from './complete'

const PATHS = '^(agent_id|resource\\.id|(context|agent)(\\.[a-z]+)+)$'

/** Of the same form as the document of the server, and smaller. */
const DOCUMENT: OpenApiDocument = {
  info: { title: 'Countersign' },
  paths: {
    '/v1/policies': {
      post: {
        operationId: 'policies_create',
        summary: 'Create a policy.',
        description: '',
        tags: ['policies'],
        responses: {},
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  name: { type: 'string' },
                  enabled: { type: 'boolean', description: 'true when absent.' },
                  rules: { type: 'array', items: { $ref: '#/components/schemas/Rule' } },
                  id: { readOnly: true },
                },
              },
            },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      Rule: {
        type: 'object',
        properties: {
          effect: { type: 'string', enum: ['allow', 'deny'] },
          conditions: { $ref: '#/components/schemas/Conditions' },
        },
      },
      Conditions: {
        type: 'object',
        patternProperties: {
          [PATHS]: {
            type: 'object',
            properties: {
              $eq: {
                anyOf: [
                  { type: ['string', 'number'] },
                  { type: 'object', properties: { $ref: { type: 'string', pattern: PATHS } } },
                ],
              },
            },
          },
          '^\\$(or|and)$': { type: 'array', items: { $ref: '#/components/schemas/Conditions' } },
        },
        propertyNames: { anyOf: [{ pattern: PATHS }, { enum: ['$or', '$and'] }] },
      },
    },
  },
}

/** What is suggested at the `|` of a text. */
function suggested(marked: string): string[] {
  const offset = marked.indexOf('|')
  const text = marked.replace('|', '')
  const place = placeAt(text, offset)
  return place === null ? [] : suggestionsAt(DOCUMENT, place, ['context.amount']).map((suggestion) => suggestion.text)
}

describe('completion', () => {
  it.each([
    ['{|}', ['name', 'enabled', 'rules']],
    ['{"|"}', ['name', 'enabled', 'rules']],
    ['{"na|me": "x", "enabled": true}', ['name', 'rules']],
    ['{"name": "x", |}', ['enabled', 'rules']],
    ['{"name": "x", "|"}', ['enabled', 'rules']],
    ['{"name": "x", "|", "rules": []}', ['enabled']],
    ['{"rules": [{"|"}]}', ['effect', 'conditions']],
    ['{"rules": [{"effect": "allow"}, {"|"}]}', ['effect', 'conditions']],
    ['{"rules": [{"effect": "allow"}, {"conditions": {}, |', ['effect']],
  ])('of names in %s', (marked, names) => {
    expect(suggested(marked)).toEqual(names)
  })

  it.each([
    ['{"enabled": |}', ['true', 'false']],
    ['{"enabled": |, "name": "x"}', ['true', 'false']],
    ['{"enabled": tr|}', ['true', 'false']],
    ['{"rules": [{"effect": "|"}]}', ['"allow"', '"deny"']],
    ['{"rules": [{"effect": "al|low"}]}', ['"allow"', '"deny"']],
    ['{"rules": [{"effect": |}]}', ['"allow"', '"deny"']],
    ['{"rules": [{}, {"effect": "|"}]}', ['"allow"', '"deny"']],
  ])('of values in %s', (marked, values) => {
    expect(suggested(marked)).toEqual(values)
  })

  it('of paths, groups and operators', () => {
    const paths = ['agent_id', 'resource.id', 'context.amount', '$or', '$and']
    expect(suggested('{"rules": [{"conditions": {"|"}}]}')).toEqual(paths)
    expect(suggested('{"rules": [{"conditions": {"$or": [{"|"}]}}]}')).toEqual(paths)
    expect(suggested('{"rules": [{"conditions": {"context.x": {"|"}}}]}')).toEqual(['$eq'])
    expect(suggested('{"rules": [{"conditions": {"context.x": {"$eq": {"|"}}}}]}')).toEqual(['$ref'])
    expect(suggested('{"rules": [{"conditions": {"context.x": {"$eq": {"$ref": "|"}}}}]}')).toEqual(
      ['agent_id', 'resource.id', 'context.amount'].map((path) => JSON.stringify(path)),
    )
  })

  it.each([
    '{"name": "x" |}',
    '{"rules": [] |}',
    '|',
    '{}|',
    '{"rules": [{} |]}',
    '{"name": "|"}',
    '{"unknown": {"|"}}',
  ])('has nothing to say in %s', (marked) => expect(suggested(marked)).toEqual([]))
})

it('the facts that a text names are known', () => {
  expect(pathsIn('{"context.a": 1, "b": "agent.c", "context.a": 2, "context.": 3}')).toEqual(['context.a', 'agent.c'])
})
