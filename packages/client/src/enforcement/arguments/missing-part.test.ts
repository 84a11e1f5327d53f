import { describe, expect, it } from 'vitest'
import { DeniedError } from '../../errors/denied-error.js'
import { assertNoMissingPart } from './missing-part.js'

type NamedParts = Parameters<typeof assertNoMissingPart>[0]

function refusal(names: NamedParts): DeniedError | null {
  try {
    assertNoMissingPart(names)
    return null
  } catch (error) {
    if (DeniedError.isInstance(error)) return error
    throw error
  }
}

describe('a part that a value was missing for', () => {
  it.each<[NamedParts, string]>([
    [{ resource: 'order:undefined' }, 'undefined'],
    [{ resource: 'order:5/undefined' }, 'undefined'],
    [{ resource: 'undefined:5' }, 'undefined'],
    [{ resource: 'order:undefined-5' }, 'undefined'],
    [{ resource: 'order:a undefined b' }, 'undefined'],
    [{ resource: 'file:a?of=undefined' }, 'undefined'],
    [{ resource: 'order:null' }, 'null'],
    [{ resource: 'order:null/5' }, 'null'],
    [{ resource: 'order:NaN' }, 'NaN'],
    [{ resource: 'order:eu-NaN' }, 'NaN'],
    [{ resource: 'order:[object Object]' }, '[object Object]'],
    [{ resource: 'order:[object Promise]' }, '[object Promise]'],
    [{ resource: 'order:[object Array Iterator]/5' }, '[object Array Iterator]'],
    [{ agent_id: 'user:undefined' }, 'undefined'],
    [{ agent_id: 'user-undefined' }, 'undefined'],
    [{ agent_id: 'user:null' }, 'null'],
    [{ agent_id: 'user_null' }, 'null'],
    [{ agent_id: 'user+undefined@example.com' }, 'undefined'],
    [{ action: 'payment.undefined' }, 'undefined'],
    [{ action: 'tool.null' }, 'null'],
    [{ action: 'undefined' }, 'undefined'],
    [{ resource: 'order:aundefined' }, 'undefined'],
    [{ resource: 'order:UNDEFINED' }, 'UNDEFINED'],
    [{ action: 'miss.xundefined' }, 'undefined'],
    [{ resource: 'order:NULL' }, 'NULL'],
    [{ resource: 'order:-Infinity' }, 'Infinity'],
    [{ resource: `order:${new Date(Number.NaN)}` }, 'Invalid Date'],
    [{ resource: `order:${'x'.trim}` }, 'function trim('],
    [{ resource: `order:${(id: string) => id}` }, '=>'],
  ])('%j is refused by that part', (names, part) => {
    const denied = refusal(names)
    expect(denied).toMatchObject({ reason: 'question_refused', decision_id: null })
    expect(denied?.message).toContain(`The ${Object.keys(names)[0]} of this call has the part \`${part}\``)
    expect(String(denied?.cause)).toContain(`\`${Object.values(names)[0]}\``)
  })

  it.each<NamedParts>([
    { resource: 'order:' },
    { resource: 'order: ' },
    { resource: ':5' },
    { resource: '' },
    { resource: 'tenant::order' },
    { resource: 'arn:aws:s3:::' },
    { resource: 'shop:2001::7' },
    { resource: 'shop:beef::7' },
    { resource: 'host:::1' },
    { resource: 'host:2001:db8::' },
    { resource: 'host:2001:db8::1::2' },
    { resource: 'host:2001:db8::1:order:' },
    { resource: 'a::[::1]' },
    { agent_id: 'host:2001:db8::1' },
    { agent_id: 'user:' },
    { agent_id: 'tenant::7' },
    { action: 'payment..send' },
    { action: '.send' },
    { action: 'payment.' },
  ])('%j is refused, as it has an empty one', (names) => {
    expect(refusal(names)?.message).toContain(`${Object.keys(names)[0]} of this call has an empty part`)
  })

  it.each<NamedParts>([
    {},
    { resource: null, agent_id: undefined },
    { resource: 'order:8812', agent_id: 'agent:support-7', action: 'payment.refund' },
    { resource: 'order:nullable', agent_id: 'user:nullum', action: 'infinity.read' },
    { resource: 'order:malfunction (2)', agent_id: 'user:Null', action: 'define.function' },
    { resource: 'place:null-island', agent_id: 'null_island' },
    { resource: 'dish:NaNs', action: 'NaN-bread.bake' },
    { resource: 'file:/etc/passwd' },
    { resource: 'file:../a..b/.env' },
    { resource: 'url:https://example.com/' },
    { resource: 'note:[object of desire' },
    { resource: 'arn:aws:s3:::bucket/key', agent_id: 'arn:aws:iam::123456789012:role/agent' },
    { agent_id: 'spiffe://example.org/agents/7' },
    { agent_id: 'user:AItOawmwtWwcT0k51BayewNvutrJUqsvl6qs7A4-' },
    { resource: 'phone:+4930123' },
    { resource: 'host:2001:db8::1' },
    { resource: 'host:fe80::1:2' },
    { resource: 'net:2001:db8::1/64' },
    { resource: 'host:[::1]' },
    { resource: 'host:[2001::7]' },
  ])('%j is taken', (names) => {
    expect(refusal(names)).toBeNull()
  })

  it('is looked for in one pass: these texts would take hours otherwise', () => {
    for (const piece of ['[object ', 'null_', 'undefined0', 'NaN-', '2001:db8::', 'a', 'undefine', 'function '])
      expect(() => refusal({ resource: `a:${piece.repeat(200_000)}` })).not.toThrow()
  })
})
