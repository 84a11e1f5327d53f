import { inspect, isDeepStrictEqual } from 'node:util'
import { OPERATIONS, type Operation } from '@countersign/contract/operations'
import { SEED, seededRandom } from '@countersign/testkit'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { certainlyValid, UNSURE } from './certainly-valid.js'

const BODIES = Object.entries<Operation>(OPERATIONS).flatMap(([name, { body }]) =>
  body === undefined ? [] : [{ name, schema: body.schema as z.ZodType }],
)
const DECIDE = 'decisions.decide'
const ROUNDS = { [DECIDE]: 12_000 }
const OTHER_ROUNDS = 600

const TEXTS = [
  ...[
    '',
    'a',
    'agent:support-7',
    'payment.refund',
    'order:8812',
    'order:é',
    'order:e\u0301',
    'order:\u202e1',
    ':x',
    'x:',
  ],
  ...[
    'a b',
    '.',
    'a..b',
    '__proto__',
    'constructor',
    'order:\ud800',
    '\udc00',
    '\u0000',
    '😀',
    'x:😀',
    'order:a\nb',
    '\n',
    ' ',
  ],
  ...[
    '2026-01-02T03:04:05.678Z',
    '2026-01-02',
    'EUR',
    'https://example.com/hook',
    'decisions:write',
    'payment.*',
    'allow',
  ],
  ...[63, 64, 65, 127, 128, 129, 199, 200, 201, 255, 256, 257, 511, 512, 513, 2001].flatMap((length) => [
    'a'.repeat(length),
    `a:${'é'.repeat(length - 2)}`,
  ]),
]
const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.5,
  100,
  1e-7,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  1e308,
  Number.NaN,
  Number.POSITIVE_INFINITY,
]
const nested = (depth: number): unknown =>
  depth === 0 ? 1 : depth % 2 === 0 ? [nested(depth - 1)] : { a: nested(depth - 1) }
const FACTS = [
  {},
  { amount: 12.5, currency: 'EUR' },
  { amount: -0, at: [null, true, { deep: { er: [] } }] },
  { a: nested(30) },
  { a: nested(300) },
  { lone: '\ud800' },
  { $a: 1 },
  { 'a.b': 1 },
  { '': 1 },
  { a: [{ 'b\u0000': 1 }] },
  { a: { constructor: 1 } },
  JSON.parse('{"a":{"__proto__":{"admin":true}}}'),
  JSON.parse('{"__proto__":1}'),
]
const WORDS = [
  null,
  undefined,
  true,
  false,
  [],
  [[]],
  'true',
  7n,
  Symbol('s'),
  () => 1,
  new Date(0),
  Object.create(null),
]
const ANY = [...TEXTS, ...NUMBERS, ...FACTS, ...WORDS]

/** Bodies of a schema: mostly valid ones, and those that are nearly so. */
class Bodies {
  readonly #valid = new Map<unknown, readonly unknown[]>()

  constructor(private readonly random: () => number) {}

  of(schema: z.ZodType): unknown {
    const value = this.#valueOf(schema)
    return this.random() < 0.5 ? value : this.#spoilt(value)
  }

  #valueOf(schema: z.core.$ZodType): unknown {
    const { def } = schema._zod as z.core.$ZodTypes['_zod']
    switch (def.type) {
      case 'optional':
      case 'nullable':
        return this.random() < 0.2 ? null : this.#valueOf(def.innerType)
      case 'array':
        return Array.from({ length: this.#pick([0, 1, 1, 2, 3, 101]) }, () => this.#valueOf(def.element))
      case 'pipe':
        return this.#valueOf(def.in)
      case 'object':
        return this.#objectOf(def.shape)
      default:
        return this.#pick(this.random() < 0.97 ? this.#validOnes(schema) : ANY)
    }
  }

  #objectOf(shape: z.core.$ZodShape): unknown {
    const members = Object.entries(shape).map(([name, member]) => [name, this.#valueOf(member)] as const)
    const isGiven = ([name]: readonly [string, unknown]) =>
      this.random() < (shape[name]?._zod.def.type === 'optional' ? 0.7 : 0.99)
    const given = members.filter(isGiven)
    return Object.fromEntries(this.random() < 0.5 ? given : given.reverse())
  }

  /** One place is changed. */
  #spoilt(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || this.random() < 0.05) return this.#pick(ANY)
    const names = Object.keys(value)
    const name = this.#pick(names)
    if (Array.isArray(value)) return value.map((item, at) => (String(at) === name ? this.#spoilt(item) : item))
    const { [name as string]: member, ...rest } = value as Record<string, unknown>
    switch (this.#pick(['deep', 'deep', 'drop', 'add', 'add', 'bare', 'inherited', 'symbol', 'hidden'])) {
      case 'deep':
        return name === undefined ? rest : { ...rest, [name]: this.#spoilt(member) }
      case 'drop':
        return rest
      case 'add': {
        const added = this.#pick(['__proto__', 'constructor', 'toString', 'extra', 'Action', 'action '])
        return Object.defineProperty({ ...value }, added, { value: this.#pick(ANY), enumerable: true, writable: true })
      }
      case 'bare':
        return Object.assign(Object.create(null), value)
      case 'symbol':
        return { ...value, [Symbol('extra')]: 1 }
      case 'hidden':
        return name === undefined ? rest : Object.defineProperty(rest, name, { value: member, enumerable: false })
      default:
        return Object.assign(Object.create(name === undefined ? {} : { [name]: member }), rest)
    }
  }

  #validOnes(schema: z.core.$ZodType): readonly unknown[] {
    const known = this.#valid.get(schema)
    if (known !== undefined) return known
    const wanted = [...((z.globalRegistry.get(schema)?.examples as unknown[]) ?? []), ...enumOf(schema), ...ANY]
    const valid = wanted.filter((value) => z.safeParse(schema, value).success)
    this.#valid.set(schema, valid.length === 0 ? ANY : valid)
    return this.#validOnes(schema)
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)] as T
  }
}

function enumOf(schema: z.core.$ZodType): readonly unknown[] {
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  return def.type === 'enum' ? Object.values(def.entries) : []
}

/** Whether both are the same for every reader: the members also in their order, and -0 is not 0. */
function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other) && isDeepStrictEqual(orders(one), orders(other))
}

function orders(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return null
  return Reflect.ownKeys(value).map((key) => [key, orders((value as Record<PropertyKey, unknown>)[key])])
}

describe.each(BODIES)('$name', ({ name, schema }) => {
  const rounds = name === DECIDE ? ROUNDS[name] : OTHER_ROUNDS

  test(`what is certainly valid is what the schema says: ${rounds} bodies, SEED=${SEED}`, () => {
    const bodies = new Bodies(seededRandom(SEED))
    const counts = { certain: 0, refused: 0 }
    for (let round = 0; round < rounds; round += 1) {
      const body = bodies.of(schema)
      const parsed = schema.safeParse(body)
      if (!parsed.success) counts.refused += 1
      const certain = certainlyValid(schema, body)
      if (certain === UNSURE) continue
      counts.certain += 1
      if (!parsed.success || !isSame(certain, parsed.data)) {
        expect({ body, certain }).toEqual({ body, certain: parsed.data })
        expect.unreachable(`The members of ${inspect(body)} come in another order.`)
      }
    }
    if (name === DECIDE) expect(Math.min(counts.certain, counts.refused)).toBeGreaterThan(rounds / 10)
  })
})

test('no valid request for a decision needs the schema', () => {
  const { schema } = BODIES.find(({ name }) => name === DECIDE) as (typeof BODIES)[number]
  const bodies = new Bodies(seededRandom(SEED))
  let valid = 0
  while (valid < 2000) {
    const text = JSON.stringify(bodies.of(schema), (_, value) => (typeof value === 'bigint' ? 7 : value)) ?? '{}'
    const body: unknown = JSON.parse(text)
    if (!schema.safeParse(body).success) continue
    valid += 1
    if (certainlyValid(schema, body) === UNSURE) expect(body).toBe('certainly valid')
  }
})

/** With members that are not enumerable. */
function hiding(hidden: object, shown: object): object {
  const members = Object.entries(hidden).map(([name, value]) => [name, { value, enumerable: false }] as const)
  return Object.defineProperties({ ...shown }, Object.fromEntries(members))
}

test.each([
  ['converts', z.strictObject({ a: z.coerce.number() }), { a: '1' }],
  ['has a default', z.strictObject({ a: z.number().default(1) }), {}],
  ['has a default that may be absent', z.strictObject({ a: z.number().default(1).optional() }), {}],
  ['names numbers', z.strictObject({ a: z.enum({ A: 0, 0: 'A' }) }), { a: 'A' }],
  ['changes a text', z.strictObject({ a: z.string().trim() }), { a: ' x ' }],
  ['transforms', z.strictObject({ a: z.string().transform(Number) }), { a: '1' }],
  ['drops members', z.object({ a: z.string() }), { a: 'x', b: 1 }],
  ['does not see a member', z.strictObject({ a: z.string() }), hiding({ a: 'x' }, { b: 1 })],
  ['chooses', z.strictObject({ a: z.union([z.string(), z.number()]) }), { a: 1 }],
])('a schema that %s is asked', (_, schema, body) => {
  expect(certainlyValid(schema, body)).toBe(UNSURE)
})
