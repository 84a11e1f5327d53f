import { readdirSync } from 'node:fs'
import { PolicyDocumentSchema } from '@countersign/contract'
import { compilePolicies } from '@countersign/engine'
import { describe, expect, it } from 'vitest'
import { pairOf, readAgreedCases, readTaughtCases } from './golden-cases.js'
import { evaluateNaively } from './naive-evaluator.js'
import { answerOf } from './random-pair.js'

describe('cases on which independent models of the contract agree', () => {
  it('are all there', () => {
    expect(readAgreedCases()).toHaveLength(900)
  })
  it.each(readAgreedCases())('$id', (golden) => {
    const pair = pairOf(golden)
    expect(answerOf(compilePolicies(pair.policies), pair)).toEqual(golden.expect)
    expect(evaluateNaively(pair.policies, pair.request, pair.facts)).toEqual(golden.expect)
  })
})

const taught = readdirSync(new URL('../cases/', import.meta.url)).filter((file) => file.endsWith('.json'))

describe.each(taught)('cases/%s', (file) => {
  it.each(readTaughtCases(file))('$id: $description', (golden) => {
    const pair = pairOf(golden)
    for (const policy of pair.policies) expect(PolicyDocumentSchema.safeParse(policy).success).toBe(true)
    expect(answerOf(compilePolicies(pair.policies), pair)).toEqual(golden.expect)
  })
})
