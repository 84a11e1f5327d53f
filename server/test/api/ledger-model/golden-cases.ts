import { readFileSync } from 'node:fs'
import type { ReferencePolicy } from './reference-policies.js'
import type { Step, StepAnswer } from './step.js'

export interface LedgerCase {
  readonly id: string
  readonly case: {
    readonly policies: readonly ReferencePolicy[]
    readonly agents: Readonly<Record<string, { readonly suspended: boolean; readonly metadata: object }>>
    readonly steps: readonly (Step & { readonly at: string })[]
  }
  readonly expect: { readonly steps: readonly StepAnswer[] }
}

/** The policy ids of the cases are short; these have the form of ours, and their order. */
function withWholeIds(line: string): string {
  const ids = [...new Set(line.match(/"pol_(?!default")\w+"/g))].sort()
  return line.replaceAll(/"pol_(?!default")\w+"/g, (id) => `"pol_${String(ids.indexOf(id)).padStart(26, '0')}"`)
}

/** The cases on which two models of the contract, written apart from each other, agree. */
export const ledgerCases: readonly LedgerCase[] = readFileSync(
  new URL('../../../cases/ledger.jsonl', import.meta.url),
  'utf8',
)
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(withWholeIds(line)))
