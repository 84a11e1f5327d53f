import { type Budget, type PolicyDocument, PolicyDocumentSchema, type Rule } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import type { EnginePolicy } from '../compiled-policy.js'
import { Steps } from '../steps.js'
import { lint } from './lint.js'

function lintRules(...rules: Rule[]) {
  return lintPolicy({ name: 'p', rules })
}

function lintReplacement(before: PolicyDocument, policy: PolicyDocument) {
  for (const each of [before, policy]) expect(PolicyDocumentSchema.safeParse(each).error?.issues).toBeUndefined()
  return lint(policy, [], before)
}

function lintPolicy(policy: PolicyDocument, ...others: EnginePolicy[]) {
  for (const each of [policy, ...others]) expect(PolicyDocumentSchema.safeParse(each).error?.issues).toBeUndefined()
  return lint(policy, others)
}

/** The places at which a warning of this code is given. */
function places(code: string, ...rules: Rule[]): string[] {
  return lintRules(...rules).flatMap((warning) => (warning.code === code ? [warning.pointer] : []))
}

/** How many steps, such as comparisons of two conditions, are taken while it runs. */
function stepsTakenBy(run: () => unknown): number {
  let taken = 0
  const { take } = Steps.prototype
  Steps.prototype.take = function (this: Steps, steps) {
    taken += steps
    take.call(this, steps)
  }
  try {
    run()
    return taken
  } finally {
    Steps.prototype.take = take
  }
}

const allow = (changes: Partial<Rule> = {}): Rule => ({ action: 'payment.refund', effect: 'allow', ...changes })
const deny = (changes: Partial<Rule> = {}): Rule => ({ action: 'payment.refund', effect: 'deny', ...changes })
const amount = (operators: object) => ({ conditions: { 'context.amount': operators } })

describe('lint', () => {
  it('has nothing to say about the policy of the documentation', () => {
    expect(
      lintPolicy({
        name: 'refunds',
        agents: ['agent:support-*'],
        rules: [
          allow(amount({ $gt: 0, $lte: 100 })),
          { ...allow(amount({ $gt: 0, $lte: 1000 })), effect: 'review' },
          deny(),
        ],
        budget: { limit: 5000, unit: 'EUR', period: 'monthly' },
      }),
    ).toEqual([])
  })

  describe('rule_never_reached', () => {
    it('names the rule and the one that covers it', () => {
      expect(lintRules(allow(), deny({ action: 'payment.*' }), { ...allow(), action: 'payment.create' })).toEqual([
        {
          code: 'rule_never_reached',
          pointer: '/rules/2',
          message: 'Rule 2 can never decide: rule 1 matches everything it matches.',
        },
      ])
    })
    it.each<[string, Rule, Rule]>([
      ['a wider action', deny({ action: 'payment.*' }), allow()],
      ['a wider resource', deny({ resource: 'order:*' }), allow({ resource: 'order:1*' })],
      ['any resource', deny({ resource: '**' }), allow({ resource: 'order:1' })],
      ['a wider bound', allow(amount({ $lt: 100 })), allow({ ...amount({ $lte: 50 }), reason: 'r' })],
      ['a value within a bound', allow(amount({ $gte: 1 })), allow(amount({ $eq: 5 }))],
      ['a longer list', allow(amount({ $in: [1, 2, 3] })), allow(amount({ $in: [2, 3] }))],
      ['fewer conditions', deny(amount({ $gt: 1 })), deny(amount({ $gt: 1, $lt: 9 }))],
      ['a deny that an unknown decides too', deny(amount({ $gt: 1 })), deny(amount({ $gt: 5 }))],
      [
        'the same group in another order',
        allow({ conditions: { $or: [{ action: { $eq: 'a', $ne: 'b' } }] } }),
        allow({ conditions: { $or: [{ action: { $ne: 'b', $eq: 'a' } }], 'now.hour': { $lt: 5 } } }),
      ],
      [
        'the members of an $and',
        allow({ conditions: { $and: [{ 'now.hour': { $lt: 5 } }] } }),
        allow({ conditions: { 'now.hour': { $lt: 5 }, 'now.weekday': { $lt: 5 } } }),
      ],
    ])('sees %s', (_, earlier, later) => {
      expect(places('rule_never_reached', earlier, later)).toEqual(['/rules/1'])
    })
    it.each<[string, Rule, Rule]>([
      ['a narrower action', allow(), deny({ action: 'payment.*' })],
      ['another resource', deny({ resource: 'order:1' }), allow({ resource: 'order:2' })],
      ['a resource before any resource', deny({ resource: 'order:1' }), allow()],
      ['a narrower bound', allow(amount({ $lt: 50 })), allow(amount({ $lte: 50 }))],
      ['a bound in the other direction', allow(amount({ $lt: 50 })), allow(amount({ $gt: 10 }))],
      ['a bound of another type', allow(amount({ $lt: 'b' })), allow(amount({ $lt: 1 }))],
      ['a shorter list', allow(amount({ $in: [1, 2] })), allow(amount({ $in: [2, 3] }))],
      ['a list of two types', deny(amount({ $in: [1, 'a'] })), deny(amount({ $eq: 1 }))],
      ['conditions before none', deny(amount({ $gt: 1 })), deny()],
      ['an allow before a deny that an unknown decides', allow(amount({ $gt: 1 })), deny(amount({ $gt: 5 }))],
      ['a resource that may be missing', allow({ resource: 'order:*' }), deny({ resource: 'order:1' })],
    ])('does not take %s for a cover', (_, earlier, later) => {
      expect(lintRules(earlier, later).filter(({ code }) => code !== 'unbounded_below')).toEqual([])
    })
  })

  it('deny_shadowed: a deny that an earlier allow covers', () => {
    expect(places('deny_shadowed', allow({ action: 'payment.*' }), deny())).toEqual(['/rules/1'])
    expect(
      places('deny_shadowed', allow(amount({ $lt: 5 })), deny({ ...amount({ $lt: 1 }), on_unknown: 'skip' })),
    ).toEqual(['/rules/1'])
    expect(places('deny_shadowed', allow(), deny({ action: 'payment.*' }))).toEqual([])
    expect(places('deny_shadowed', { ...allow(), effect: 'review' }, deny())).toEqual([])
  })

  it('duplicate_rule: the same rule again, whatever its reason', () => {
    expect(
      places('duplicate_rule', deny(amount({ $gt: 1 })), deny({ ...amount({ $gt: 1 }), reason: 'again' })),
    ).toEqual(['/rules/1'])
    expect(places('duplicate_rule', allow(), allow({ resource: '*' }))).toEqual(['/rules/1'])
    expect(places('duplicate_rule', allow(amount({ $gt: 1 })), allow(amount({ $gt: 2 })))).toEqual([])
    expect(places('duplicate_rule', deny({ on_unknown: 'skip' }), deny())).toEqual([])
  })

  describe('contradiction', () => {
    it.each<[string, object]>([
      ['bounds that cross', { $lt: 5, $gt: 9 }],
      ['bounds that meet without touching', { $lte: 5, $gt: 5 }],
      ['text bounds that cross', { $lt: 'a', $gt: 'b' }],
      ['a value outside a bound', { $eq: 10, $lt: 10 }],
      ['a value not in a list', { $eq: 'a', $in: ['b', 'c'] }],
      ['lists without a common item', { $in: ['a', 'b'], $nin: ['a', 'b', 'c'] }],
      ['a value that is excluded', { $eq: 5, $ne: 5 }],
      ['a value unlike the pattern', { $eq: 'ab', $like: 'b*' }],
      ['an absent value that is compared', { $exists: false, $lt: 5 }],
      ['two types', { $lt: 5, $gt: 'a' }],
      ['an array that is ordered', { $contains: 5, $lt: 9 }],
    ])('sees %s', (_, operators) => {
      const pointer = `/rules/0/conditions/context.amount/${Object.keys(operators).at(-1)}`
      expect(places('contradiction', allow(amount(operators)))).toEqual([pointer])
    })
    it.each<[string, object]>([
      ['bounds that touch', { $lte: 5, $gte: 5 }],
      ['a value within its bounds', { $eq: 7, $gt: 5, $lt: 9 }],
      ['a list of which one item fits', { $in: [1, 10], $lt: 5 }],
      ['presence beside a comparison', { $exists: true, $lt: 5 }],
      ['a reference', { $lt: { $ref: 'agent.a' }, $gt: 5 }],
      ['two items of one array', { $contains: 5 }],
    ])('does not mind %s', (_, operators) => {
      expect(places('contradiction', allow(amount(operators)))).toEqual([])
    })
    it('looks through $and and into every group by itself', () => {
      const low = { 'context.amount': { $lt: 5 } }
      const high = { 'context.amount': { $gt: 9 } }
      expect(places('contradiction', allow({ conditions: { ...low, $and: [high] } }))).toEqual([
        '/rules/0/conditions/$and/0/context.amount/$gt',
      ])
      expect(places('contradiction', allow({ conditions: { $or: [low, high] } }))).toEqual([])
      expect(places('contradiction', allow({ conditions: { $not: { $and: [low, high] } } }))).toEqual([
        '/rules/0/conditions/$not/$and/1/context.amount/$gt',
      ])
    })
    it('escapes the pointer', () => {
      expect(places('contradiction', allow({ conditions: { 'context.a/b~c': { $lt: 5, $gt: 9 } } }))).toEqual([
        '/rules/0/conditions/context.a~1b~0c/$gt',
      ])
    })
  })

  describe('unbounded_below', () => {
    it.each<[string, Rule['conditions'], string]>([
      ['$lte alone', { 'context.amount': { $lte: 100 } }, 'context.amount/$lte'],
      ['$lt in the metadata', { 'agent.level': { $lt: 100 } }, 'agent.level/$lt'],
      ['a bound that is referred to', { 'context.amount': { $lte: { $ref: 'agent.limit' } } }, 'context.amount/$lte'],
      ['a bound that is written first', { 'agent.limit': { $gte: { $ref: 'context.amount' } } }, 'agent.limit/$gte'],
      ['a lower bound of another path', { 'context.a': { $lt: 1 }, 'context.b': { $gt: 0 } }, 'context.a/$lt'],
      ['an alternative', { $or: [{ 'context.a': { $lt: 1 } }, { action: { $eq: 'b' } }] }, '$or/0/context.a/$lt'],
      ['$not turned around', { $not: { 'context.a': { $gt: 100 } } }, '$not/context.a/$gt'],
      ['$and', { $and: [{ 'context.a': { $lt: 1 } }, { action: { $eq: 'b' } }] }, '$and/0/context.a/$lt'],
      ['a value that is excluded', { 'context.a': { $lt: 9, $ne: 0 } }, 'context.a/$lt'],
    ])('warns of %s', (_, conditions, place) => {
      for (const effect of ['allow', 'review'] as const) {
        const warnings = lintRules({ action: 'b', effect, ...(conditions && { conditions }) })
        expect(warnings.map(({ code, pointer }) => [code, pointer])).toEqual([
          ['unbounded_below', `/rules/0/conditions/${place}`],
        ])
      }
    })
    it('says how to mend it', () => {
      expect(lintRules(allow(amount({ $lte: 100 })))[0]?.message).toBe(
        'Nothing keeps context.amount from being negative: a negative amount passes; add "$gt": 0.',
      )
    })
    it.each<[string, Rule['conditions']]>([
      ['both bounds', { 'context.a': { $gt: 0, $lte: 100 } }],
      ['bounds that stand apart', { 'context.a': { $lte: 100 }, $and: [{ 'context.a': { $gte: 0 } }] }],
      ['a lower bound around the alternatives', { 'context.a': { $gt: 0 }, $or: [{ 'context.a': { $lt: 5 } }] }],
      ['a lower bound under $not', { 'context.a': { $lt: 5 }, $not: { 'context.a': { $lt: 0 } } }],
      ['values that are named', { 'context.a': { $in: [1, 2], $lt: 5 } }],
      ['one value', { 'context.a': { $eq: 1, $lt: 5 } }],
      [
        'a lower bound that is written first',
        { 'context.a': { $lte: 100 }, 'agent.min': { $lte: { $ref: 'context.a' } } },
      ],
      ['a text', { 'context.a': { $lt: 'b' } }],
      ['the clock', { 'now.hour': { $lt: 18 } }],
      ['$not of an upper bound', { $not: { 'context.a': { $lte: 100 } } }],
    ])('does not mind %s', (_, conditions) => {
      expect(lintRules(allow({ ...(conditions && { conditions }) }))).toEqual([])
    })
    it('does not mind a deny or a log', () => {
      expect(lintRules(deny(amount({ $lte: 100 })))).toEqual([])
      expect(lintRules({ action: 'payment.refund', effect: 'log', ...amount({ $lte: 100 }) })).toEqual([])
    })
  })

  it('compares no more than a million conditions, however they are written', () => {
    const many = (operator: string) => ({
      $and: Array.from({ length: 6_000 }, (_, at) => ({ 'context.amount': { [operator]: at + 0.5 } })),
    })
    const rules = [deny({ conditions: many('$ne') as never }), deny({ conditions: many('$lt') as never })]
    const actions = Array.from({ length: 8_000 }, (_, at) => `a${at}*b`)
    const spending = Array.from({ length: 4_000 }, (_, at): Rule => ({ action: `c${at}`, effect: 'allow' }))
    // The first alone would be 36 million comparisons, the second 32 million.
    expect(stepsTakenBy(() => expect(lint({ name: 'p', rules })).toEqual([]))).toBeLessThan(1_100_000)
    const budget = { limit: 1, unit: 'calls', period: 'daily', amount: 1, actions } as const
    expect(stepsTakenBy(() => lint({ name: 'p', rules: spending, budget }))).toBeLessThan(1_100_000)
  })

  it('log_above_deny: a log rule that lets run what a later deny is about', () => {
    const log: Rule = { action: 'payment.*', effect: 'log', ...amount({ $lt: 5 }) }
    expect(places('log_above_deny', log, deny())).toEqual(['/rules/0'])
    expect(places('log_above_deny', deny(), log)).toEqual([])
    expect(places('log_above_deny', log, deny({ action: 'email.*' }))).toEqual([])
    expect(places('log_above_deny', { ...log, resource: 'order:*' }, deny({ resource: 'invoice:*' }))).toEqual([])
  })

  it('exists_in_deny: presence asked for in a deny', () => {
    expect(places('exists_in_deny', deny(amount({ $exists: true, $gt: 5 })))).toEqual([
      '/rules/0/conditions/context.amount/$exists',
    ])
    expect(places('exists_in_deny', deny({ conditions: { $not: { 'context.a': { $exists: false } } } }))).toHaveLength(
      1,
    )
    expect(places('exists_in_deny', deny({ conditions: { $not: { 'context.a': { $exists: true } } } }))).toEqual([])
    expect(places('exists_in_deny', deny(amount({ $exists: false })))).toEqual([])
    expect(places('exists_in_deny', allow(amount({ $exists: true })))).toEqual([])
  })

  it('allow_compares_caller_values: an allow that the caller can make fit', () => {
    const compare = (path: string, other: string) => ({ conditions: { [path]: { $eq: { $ref: other } } } })
    const placesOf = (rule: Rule) => places('allow_compares_caller_values', rule)
    expect(placesOf(allow(compare('context.owner', 'context.user')))).toEqual(['/rules/0/conditions/context.owner/$eq'])
    expect(placesOf(allow(compare('resource.id', 'context.order')))).toHaveLength(1)
    expect(placesOf(allow(compare('context.owner', 'agent.owner')))).toEqual([])
    expect(placesOf(allow(compare('resource.id', 'agent_id')))).toEqual([])
    expect(placesOf(deny(compare('context.owner', 'context.user')))).toEqual([])
  })

  describe('literal_never_fits', () => {
    it.each<[string, string, unknown]>([
      ['now.hour', '$eq', '9'],
      ['now.hour', '$eq', 24],
      ['now.hour', '$gt', 23],
      ['now.hour', '$lt', 0],
      ['now.hour', '$like', '1*'],
      ['now.hour', '$ne', 9.5],
      ['now.weekday', '$eq', 0],
      ['now.weekday', '$gte', 8],
      ['agent_id', '$eq', 5],
      ['agent_id', '$eq', 'agent support'],
      ['agent_id', '$contains', 'agent'],
      ['action', '$eq', 'payment refund'],
      ['action', '$like', 'payment:*'],
      ['action', '$lt', 5],
      ['resource', '$eq', 'order'],
      ['resource.type', '$eq', 'order:1'],
      ['resource.type', '$like', 'order:*'],
      ['resource.id', '$eq', ''],
    ])('%s %s %j', (path, operator, literal) => {
      expect(places('literal_never_fits', allow({ conditions: { [path]: { [operator]: literal } } as never }))).toEqual(
        [`/rules/0/conditions/${path}/${operator}`],
      )
    })
    it.each<[string, string, unknown]>([
      ['now.hour', '$gte', 23],
      ['now.hour', '$lt', 24],
      ['now.weekday', '$in', [6, 7]],
      ['agent_id', '$like', 'agent:*'],
      ['agent_id', '$cidr', '10.0.0.0/8'],
      ['action', '$eq', 'payment.refund'],
      ['action', '$gt', 'payment'],
      ['resource', '$eq', 'order:ünï'],
      ['resource', '$exists', false],
      ['resource.type', '$ne', 'order'],
      ['resource.id', '$eq', 'a:b'],
      ['context.amount', '$eq', 'anything'],
      ['now.hour', '$eq', { $ref: 'agent.hour' }],
    ])('not for %s %s %j', (path, operator, literal) => {
      expect(places('literal_never_fits', allow({ conditions: { [path]: { [operator]: literal } } as never }))).toEqual(
        [],
      )
    })
    it('names the item of a list', () => {
      expect(places('literal_never_fits', allow({ conditions: { 'now.weekday': { $nin: [6, 7, 8] } } }))).toEqual([
        '/rules/0/conditions/now.weekday/$nin/2',
      ])
    })
  })

  describe('budget_never_spent', () => {
    const budget = { limit: 10, unit: 'calls', period: 'daily', amount: 1 } as const
    const codes = (rules: Rule[], actions?: string[]) =>
      lintPolicy({ name: 'p', rules, budget: { ...budget, ...(actions && { actions }) } }).map(({ code }) => code)

    it('warns when nothing can be spent', () => {
      expect(codes([deny()])).toEqual(['budget_never_spent'])
      expect(codes([{ ...allow(), effect: 'log' }])).toEqual(['budget_never_spent'])
      expect(codes([allow()], ['email.*'])).toEqual(['budget_never_spent'])
      expect(codes([deny(), allow()])).toEqual(['rule_never_reached', 'budget_never_spent'])
    })
    it('does not when a rule that can decide spends', () => {
      expect(codes([allow()])).toEqual([])
      expect(codes([{ ...allow(), effect: 'review' }])).toEqual([])
      expect(codes([allow()], ['email.*', 'payment.*'])).toEqual([])
      expect(lintRules(deny())).toEqual([])
    })
  })

  describe('allow_passes_budget', () => {
    const spent: EnginePolicy = {
      id: 'pol_spent',
      revision: 1,
      name: 'spent',
      agents: ['agent:support-*'],
      rules: [allow({ resource: 'order:*' })],
      budget: { limit: 10, unit: 'EUR', period: 'daily' },
    }
    const above: EnginePolicy = {
      id: 'pol_above',
      revision: 1,
      name: 'above',
      priority: 1,
      rules: [deny({ action: 'email.*' }), allow({ action: '*' })],
    }

    it('is named at the rule above and at the budget below', () => {
      expect(lintPolicy(above, spent)).toEqual([
        {
          code: 'allow_passes_budget',
          pointer: '/rules/1',
          message: 'Rule 1 allows what then bypasses the budget of "spent", which has a lower priority.',
        },
      ])
      expect(lintPolicy(spent, above)).toEqual([
        {
          code: 'allow_passes_budget',
          pointer: '/budget',
          message: 'Rule 1 of "above", which has a higher priority, allows what then bypasses this budget.',
        },
      ])
    })
    it('is named once for each place', () => {
      expect(lintPolicy(above, spent, { ...spent, id: 'pol_2', name: 'second' })).toHaveLength(1)
    })
    it.each<[string, Partial<EnginePolicy>, Partial<EnginePolicy>]>([
      ['equal priorities', { priority: 0 }, {}],
      ['other agents', { agents: ['agent:billing'] }, {}],
      ['another action', { rules: [allow({ action: 'email.*' })] }, {}],
      ['another resource', { rules: [allow({ resource: 'invoice:*' })] }, {}],
      ['no allow above', { rules: [deny()] }, {}],
      ['a disabled policy above', { enabled: false }, {}],
      ['a shadow policy above', { mode: 'shadow' }, {}],
      ['a disabled budget', {}, { enabled: false }],
      ['a budget for another action', {}, { budget: { limit: 1, unit: 'EUR', period: 'daily', actions: ['email.*'] } }],
    ])('is not named for %s', (_, upper, lower) => {
      const policies = [
        { ...above, ...upper },
        { ...spent, ...lower },
      ] as const
      const codes = [...lintPolicy(policies[0], policies[1]), ...lintPolicy(policies[1], policies[0])].map(
        ({ code }) => code,
      )
      expect(codes).not.toContain('allow_passes_budget')
    })
  })

  it('gives at most a hundred warnings', () => {
    const rules = Array.from({ length: 4000 }, (_, at) => deny({ action: `a${at}.*`, ...amount({ $exists: true }) }))
    expect(lint({ name: 'p', rules })).toHaveLength(100)
  })

  describe('budget_restarted', () => {
    const withBudget = (budget?: Partial<Budget>): PolicyDocument => ({
      name: 'p',
      rules: [allow()],
      ...(budget && { budget: { limit: 5, unit: 'EUR', period: 'monthly', ...budget } }),
    })

    it('names what was and what is', () => {
      expect(lintReplacement(withBudget({ unit: 'Usd' }), withBudget({}))).toEqual([
        {
          code: 'budget_restarted',
          pointer: '/budget/unit',
          message:
            'Its unit was Usd and is now EUR, so the budget counts in another account: what was spent and reserved so far stays in the old one.',
        },
      ])
    })

    it.each<[string, Partial<Budget> | undefined, Partial<Budget> | undefined, string[]]>([
      ['another period', {}, { period: 'daily' }, ['/budget/period']],
      ['a scope that was the default', {}, { scope: 'agent' }, ['/budget/scope']],
      ['a scope that is the default again', { scope: 'agent' }, {}, ['/budget/scope']],
      [
        'all of them',
        {},
        { unit: 'USD', period: 'total', scope: 'agent' },
        ['unit', 'period', 'scope'].map((member) => `/budget/${member}`),
      ],
      ['the same unit in another case', {}, { unit: 'eur' }, []],
      ['the default scope written out', {}, { scope: 'policy' }, []],
      [
        'another limit, amount, currency, on_exceed and actions',
        {},
        { limit: 9, amount: 1, currency: 'context.c', on_exceed: 'review', actions: ['*'] },
        [],
      ],
      ['a first budget', undefined, {}, []],
      ['no budget any more', {}, undefined, []],
    ])('%s', (_, before, after, expected) => {
      expect(lintReplacement(withBudget(before), withBudget(after)).map(({ pointer }) => pointer)).toEqual(expected)
    })

    it('is not given for a new policy', () => {
      expect(lint(withBudget({}))).toEqual([])
    })
  })
})
