import { ExplanationSchema, type Json, type JsonObject, type Rule } from '@countersign/contract'
import { adviseOn, compilePolicies, type EnginePolicy, evaluate, explain } from '@countersign/engine'
import { describe, expect, it } from 'vitest'

const FACTS = { now: new Date('2026-11-21T10:00:00.000Z'), suspended: false, metadata: null }
/** What is shown is bounded by itself. */
const ANY_STEPS = Number.MAX_SAFE_INTEGER
const LONG = 'ab'.repeat(30_000)

function policyOf(rules: readonly Rule[], at = 0): EnginePolicy {
  return { id: `pol_${String(at).padStart(26, '0')}`, revision: 1, name: `policy ${at}`, rules }
}

function explained(policies: readonly EnginePolicy[], context: JsonObject, maxSteps = ANY_STEPS) {
  const request = { agent_id: 'agent:support-7', action: 'payment.refund', resource: null, context }
  const explanation = explain(compilePolicies(policies), request, FACTS, { maxSteps })
  expect(ExplanationSchema.safeParse(explanation).error?.issues).toBeUndefined()
  return { explanation, bytes: Buffer.byteLength(JSON.stringify(explanation)) }
}

/** What an explanation shows as the actual value. */
function shownAs(value: Json): Json | undefined {
  const { explanation } = explained([policyOf([rule({ 'context.value': { $eq: 'other' } })])], { value })
  return explanation.policies[0]?.rules[0]?.failed[0]?.actual
}

function rule(conditions: Rule['conditions']): Rule {
  return conditions === undefined ? { action: '*', effect: 'allow' } : { action: '*', effect: 'allow', conditions }
}

describe('an explanation', () => {
  it('shows twenty of the conditions that failed in a rule and counts the others', () => {
    const conditions = { $or: Array.from({ length: 3_000 }, (_, at) => ({ 'context.note': { $like: `*x${at}*` } })) }
    const { explanation, bytes } = explained([policyOf([rule(conditions)])], { note: LONG })
    const [shown] = explanation.policies[0]?.rules ?? []
    expect(shown?.failed).toHaveLength(20)
    expect(shown?.failed_omitted).toBe(2_980)
    expect(explanation.nearest_miss).toMatchObject({ failed: shown?.failed, failed_omitted: 2_980 })
    expect(explanation.summary).toContain('but for 3000 conditions')
    expect(explanation.summary.length).toBeLessThan(1_000)
    expect(bytes).toBeLessThan(50_000)
  })

  it('shows twenty of the conditions that held in a rule and counts the others', () => {
    const conditions = { $or: Array.from({ length: 3_000 }, (_, at) => ({ 'context.note': { $ne: `${at}` } })) }
    const { explanation, bytes } = explained([policyOf([rule(conditions)])], { note: LONG })
    const [shown] = explanation.policies[0]?.rules ?? []
    expect(shown?.held).toHaveLength(20)
    expect(shown?.held_omitted).toBe(2_981)
    expect(bytes).toBeLessThan(50_000)
  })

  it('lists ten thousand policies that match in less than 8 MiB, those that decided with what held', () => {
    const conditions = { 'context.note': { $ne: '☃'.repeat(2_000) }, 'context.other': { $exists: false } }
    const policies = Array.from({ length: 10_000 }, (_, at) => policyOf([rule(conditions)], at))
    const { explanation, bytes } = explained(policies, { note: LONG })
    expect(bytes).toBeLessThan(8 * 1024 * 1024)
    for (const { rules } of explanation.policies) {
      const [{ held = [], held_omitted = 0 } = {}] = rules
      expect(held.length + held_omitted).toBe(3)
    }
    expect(explanation.policies.find(({ decided }) => decided)?.rules[0]?.held).toHaveLength(3)
  })

  it('counts nothing where nothing is left out', () => {
    const { explanation } = explained([policyOf([rule({ 'context.a': { $eq: 1 } }), rule(undefined)])], { a: 2 })
    expect(JSON.stringify(explanation)).not.toContain('_omitted')
  })

  it('cuts long values, and says how long they are', () => {
    expect(shownAs('a'.repeat(1_000))).toBe('a'.repeat(1_000))
    expect(shownAs(LONG)).toBe(`${LONG.slice(0, 1_000)}… (60000 characters)`)
    expect(shownAs(`${'a'.repeat(999)}😀b`)).toBe(`${'a'.repeat(999)}… (1002 characters)`)
  })

  it('cuts the JSON of a long list, and leaves a short one as it is', () => {
    const shown = (tags: string[]) => {
      const { explanation } = explained([policyOf([rule({ 'context.tags': { $contains: 'x' } })])], { tags })
      return explanation.policies[0]?.rules[0]?.failed[0]?.actual
    }
    expect(shown(['a', 'b'])).toEqual(['a', 'b'])
    expect(shown(['a'.repeat(2_000)])).toBe(`["${'a'.repeat(998)}… (2004 characters)`)
  })

  it('cuts what is expected, and the path, as it cuts what was found', () => {
    const path = `context.${'deep.'.repeat(4_000)}end`
    const many = Array.from({ length: 1_000 }, (_, at) => `item ${at}`)
    const { explanation, bytes } = explained(
      [policyOf([rule({ [path]: { $in: many }, 'context.a': { $in: many } })])],
      {
        a: 'none',
      },
    )
    const [unknown, unmet] = explanation.policies[0]?.rules[0]?.failed ?? []
    expect(unknown?.path).toBe(`${path.slice(0, 1_000)}… (${path.length} characters)`)
    expect(unmet?.expected).toBe(`${JSON.stringify(many).slice(0, 1_000)}… (${JSON.stringify(many).length} characters)`)
    expect(bytes).toBeLessThan(20_000)
  })

  it('lists every policy and every rule of ten thousand policies in less than 8 MiB, whatever they compare', () => {
    const rules = Array.from({ length: 5 }, (_, at) => rule({ 'context.note': { $eq: `${at}`.padEnd(2_000, '☃') } }))
    const policies = Array.from({ length: 10_000 }, (_, at) => policyOf(rules, at))
    const deciding: EnginePolicy = { ...policyOf([...rules, { action: '*', effect: 'deny' }], 10_000), priority: -1 }
    const { explanation, bytes } = explained([...policies, deciding], { note: LONG })
    expect(bytes).toBeLessThan(8 * 1024 * 1024)
    expect(explanation.policies).toHaveLength(10_001)
    const all = explanation.policies.flatMap((policy) => policy.rules)
    expect(all).toHaveLength(50_006)
    for (const { result, failed, failed_omitted = 0 } of all) {
      expect(failed.length + failed_omitted).toBe(result === 'matched' ? 0 : 1)
    }
    expect(explanation.nearest_miss?.failed).toHaveLength(1)
    const decided = explanation.policies.find((policy) => policy.decided)
    expect(decided?.rules.map(({ failed }) => failed.length)).toEqual([1, 1, 1, 1, 1, 0])
  })

  it('and the reason and advice of a decision name a long path no longer than that', () => {
    const path = `context.${'deep.'.repeat(4_000)}end`
    const policies = [policyOf([{ action: '*', effect: 'deny', conditions: { [path]: { $eq: 1 } } }])]
    const request = { agent_id: 'agent:support-7', action: 'payment.refund', resource: null, context: {} }
    const evaluation = evaluate(compilePolicies(policies), request, FACTS)
    expect(evaluation.reason).toMatch(/^The policy needs context\.deep\..{900,1000}… \(20011 characters\) as a number/)
    expect(adviseOn(evaluation, request, 'dec_1')?.message.length).toBeLessThan(1_200)
    expect(explained(policies, {}).explanation.summary.length).toBeLessThan(1_200)
  })
})
