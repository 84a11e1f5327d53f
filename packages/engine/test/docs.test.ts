import { readdirSync, readFileSync } from 'node:fs'
import { ConditionsSchema, PolicyDocumentSchema, RuleSchema } from '@countersign/contract'
import { describe, expect, it } from 'vitest'

const page = readFileSync(new URL('../../../docs/concepts/policies.md', import.meta.url), 'utf8')
const lintFolder = new URL('../src/lint/', import.meta.url)

describe('docs/concepts/policies.md', () => {
  it('lists exactly the warnings that lint can give', () => {
    const sources = readdirSync(lintFolder).filter((file) => !file.endsWith('.test.ts'))
    const codes = sources.flatMap((file) => {
      const text = readFileSync(new URL(file, lintFolder), 'utf8')
      return [...text.matchAll(/\bcode(?:: | = )'([a-z_]+)'/g)].map(([, code]) => code)
    })
    const table = page.slice(page.indexOf('## Warnings'))
    const listed = [...table.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code)
    expect(listed.toSorted()).toEqual([...new Set(codes)].toSorted())
  })

  it('shows policies, rules and conditions that the contract accepts', () => {
    const blocks = [...page.matchAll(/```json\n([^`]+)```/g)].map(([, text]) => JSON.parse(text as string) as object)
    const shown = blocks.filter(
      (block) => !['reason_code', 'shadow', 'code', 'held'].some((answered) => answered in block),
    )
    for (const block of shown) {
      const schema = 'rules' in block ? PolicyDocumentSchema : 'effect' in block ? RuleSchema : ConditionsSchema
      expect(schema.safeParse(block).error?.issues, JSON.stringify(block)).toBeUndefined()
    }
    expect(shown.length).toBeGreaterThanOrEqual(6)
  })
})
