import { readFileSync } from 'node:fs'
import { PolicyDocumentSchema, validate } from '@countersign/contract'
import { describe, expect, it } from 'vitest'

interface PolicyCase {
  readonly id: string
  readonly case: { readonly policy: unknown }
  readonly expect: { readonly valid: boolean; readonly pointers: readonly string[] }
}

const cases = readFileSync(new URL('../cases/validate_policy.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line): PolicyCase => JSON.parse(line))

describe('golden policies', () => {
  it('are all here', () => {
    expect(cases).toHaveLength(450)
  })

  it.each(cases)('$id is refused at the places that the contract names', ({ case: { policy }, expect: wanted }) => {
    const result = validate(PolicyDocumentSchema, policy)
    expect({ valid: result.ok, pointers: result.ok ? [] : result.errors.map(({ pointer }) => pointer) }).toEqual(wanted)
  })
})
