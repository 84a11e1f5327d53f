import { readFileSync } from 'node:fs'
import { DecisionRequestSchema, LIMITS, validate } from '@countersign/contract'
import { parseStrictJson } from '@countersign/contract/strict-json'
import { describe, expect, it } from 'vitest'

interface RequestCase {
  readonly id: string
  readonly case: { readonly body_b64: string }
  readonly expect: { readonly status: 'ok' | 400 | 413; readonly pointers: readonly string[] | null }
}

const cases = readFileSync(new URL('../../packages/contract/cases/validate_request.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line): RequestCase => JSON.parse(line))

/** What reading and checking a body says, in the terms of the golden cases: null for a text that is not strict JSON. */
function pointersOf(body: Uint8Array): readonly string[] | null {
  const json = parseStrictJson(body, { maxDepth: LIMITS.decisionBodyDepth })
  if (!json.ok) return null
  const result = validate(DecisionRequestSchema, json.value)
  return result.ok ? [] : result.errors.map(({ pointer }) => pointer)
}

describe('golden request bodies', () => {
  it('are all here', () => {
    expect(cases).toHaveLength(450)
  })

  it.each(cases)(
    '$id is read and refused at the places that the contract names',
    ({ case: { body_b64 }, expect: wanted }) => {
      const body = Buffer.from(body_b64, 'base64')
      if (wanted.status === 413) expect(body.length).toBeGreaterThan(LIMITS.decisionBodyBytes)
      else expect(pointersOf(body)).toEqual(wanted.pointers)
    },
  )
})
