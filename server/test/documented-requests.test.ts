/** What the OpenAPI document says of request bodies, against what the server takes: it never refuses what is taken. */
import { readFileSync } from 'node:fs'
import { LIMITS } from '@countersign/contract'
import { parseStrictJson } from '@countersign/contract/strict-json'
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describe, expect, it } from 'vitest'

interface Body {
  readonly body: unknown
  /** The places at which the server refuses it. */
  readonly pointers: readonly string[]
}

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const linesOf = (path: string) =>
  read(path)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

/** Generated from a running server; a check of its own holds it to that. */
const DOCUMENT: AnySchemaObject = JSON.parse(read('docs/reference/openapi.json'))
const ajv = new Ajv2020({ strict: false, validateSchema: false })
formats.default(ajv)
ajv.addSchema(DOCUMENT, 'api')

function takes(path: string, body: unknown): boolean {
  const check = ajv.getSchema(
    `api#/paths/${path.replaceAll('/', '~1')}/post/requestBody/content/application~1json/schema`,
  )
  if (check === undefined) throw new Error(`The document has no body for ${path}.`)
  return check(body) as boolean
}

/** Those that are strict JSON. */
function requests(): Body[] {
  return linesOf('packages/contract/cases/validate_request.jsonl').flatMap(({ case: { body_b64 }, expect: wanted }) => {
    const json = parseStrictJson(Buffer.from(body_b64, 'base64'), { maxDepth: LIMITS.decisionBodyDepth })
    return json.ok && wanted.pointers !== null ? [{ body: json.value, pointers: wanted.pointers }] : []
  })
}

/** Those of the golden validations, all of which are refused, and those that golden evaluations go by. */
function policies(): Body[] {
  const refused = linesOf('packages/contract/cases/validate_policy.jsonl').map(
    ({ case: { policy }, expect: wanted }) => ({
      body: policy,
      pointers: wanted.pointers,
    }),
  )
  const taken = linesOf('packages/engine/cases/evaluate.jsonl').flatMap(({ case: { policies } }) => policies)
  return [...refused, ...taken.map((body) => ({ body, pointers: [] }))]
}

describe.each([
  // A schema does not tell of keys deep inside a context, of Unicode forms, and of code units.
  { path: '/v1/decisions', bodies: requests(), told: 0.8 },
  { path: '/v1/policies', bodies: policies(), told: 0.98 },
])('POST $path', ({ path, bodies, told }) => {
  it('is documented to take every body that the server takes', () => {
    const taken = bodies.filter(({ pointers }) => pointers.length === 0)
    expect(taken.length).toBeGreaterThan(50)
    expect(taken.filter(({ body }) => !takes(path, body))).toEqual([])
  })

  it(`is documented to refuse ${told * 100} of 100 bodies that the server refuses`, () => {
    const refused = bodies.filter(({ pointers }) => pointers.length > 0)
    expect(refused.length).toBeGreaterThan(300)
    const documented = refused.filter(({ body }) => !takes(path, body))
    expect(documented.length / refused.length).toBeGreaterThanOrEqual(told)
  })
})
