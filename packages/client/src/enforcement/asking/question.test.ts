import { describe, expect, it } from 'vitest'
import type { GuardRequest } from './asked.js'
import { readQuestion } from './question.js'

const agentOf = (agent_id: string | undefined): string => agent_id ?? 'agent:own'
const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }

function read(request: unknown) {
  return readQuestion(request as GuardRequest, agentOf)
}

describe('the question', () => {
  it('is a frozen copy, with the agent of the client where none is given', () => {
    const context = { amount: 42.5, lines: [{ id: 'a' }], none: null }
    const question = read({ action: 'payment.refund', context })
    expect(question).toEqual({ agent_id: 'agent:own', action: 'payment.refund', resource: null, context })
    const { lines } = question.context as typeof context
    for (const part of [question, question.context, lines, lines[0]]) expect(Object.isFrozen(part)).toBe(true)
    context.amount = 9
    context.lines.push({ id: 'b' })
    expect(question.context).toEqual({ amount: 42.5, lines: [{ id: 'a' }], none: null })
  })

  it('has null where there is no resource and no context', () => {
    expect(read({ ...asked, resource: undefined, context: undefined })).toEqual({
      ...asked,
      resource: null,
      context: null,
    })
    expect(read({ ...asked, resource: null, context: null })).toEqual({ ...asked, resource: null, context: null })
  })

  it('may have hidden members, such as what a library notes about its objects', () => {
    const request = Object.defineProperty({ ...asked }, '__source', { value: 'orders.json' })
    expect(read(request)).toEqual({ ...asked, context: null })
  })

  it('reads each member once', () => {
    let reads = 0
    const request = {
      ...asked,
      get action() {
        reads += 1
        return reads === 1 ? 'order.read' : 'payment.refund'
      },
    }
    expect(read(request).action).toBe('order.read')
    expect(reads).toBe(1)
  })

  it('takes one object at two places, and leaves out what is undefined', () => {
    const line = { amount: 1 }
    expect(read({ ...asked, context: { first: line, second: line, none: undefined } }).context).toEqual({
      first: { amount: 1 },
      second: { amount: 1 },
    })
  })

  const circular: Record<string, unknown> = {}
  circular.self = { circular }
  let laughs: unknown = 'ha'
  for (let level = 0; level < 60; level += 1) laughs = [laughs, laughs]
  let deep: unknown = {}
  for (let level = 0; level < 100; level += 1) deep = { deep }

  it.each<[string, unknown, string]>([
    ['no object', null, 'an object'],
    ['no action', { agent_id: 'agent:a' }, 'action'],
    ['a promise of an action', { action: Promise.resolve('order.read') }, 'action'],
    ['a resource that is no text', { ...asked, resource: 8812 }, 'resource'],
    ['an agent that is no text', { ...asked, agent_id: { id: 'a' } }, 'agent_id'],
    ['a member that is misspelt', { ...asked, contxt: { amount: 1 } }, 'contxt'],
    ['a context that is an array', { ...asked, context: [1] }, 'context'],
    ['a context that is text', { ...asked, context: '{"amount":1}' }, 'context'],
    ['a big integer', { ...asked, context: { amount: 10n } }, 'context.amount is a bigint'],
    ['what is circular', { ...asked, context: circular }, 'contains itself'],
    ['NaN', { ...asked, context: { amount: Number.NaN } }, 'context.amount is NaN'],
    ['Infinity', { ...asked, context: { amounts: [1, Number.POSITIVE_INFINITY] } }, 'context.amounts.1 is Infinity'],
    ['a date', { ...asked, context: { at: new Date() } }, 'context.at'],
    ['a map', { ...asked, context: { amounts: new Map() } }, 'context.amounts'],
    ['a function', { ...asked, context: { amount: () => 1 } }, 'context.amount is a function'],
    ['a symbol', { ...asked, context: { amount: Symbol('a') } }, 'context.amount is a symbol'],
    ['a symbol as a name', { ...asked, context: { [Symbol('a')]: 1 } }, 'symbol'],
    [
      'an accessor',
      { ...asked, context: Object.defineProperty({}, 'amount', { get: () => 1, enumerable: true }) },
      'accessor',
    ],
    ['its own toJSON', { ...asked, context: { toJSON: () => ({}) } }, 'context.toJSON is a function'],
    [
      'an instance of a class',
      {
        ...asked,
        context: new (class Facts {
          amount = 1
        })(),
      },
      'context is an instance of Facts',
    ],
    ['a hole', { ...asked, context: { list: new Array(2) } }, 'holes'],
    ['nothing in a list', { ...asked, context: { list: [undefined] } }, 'context.list.0 is undefined'],
    ['a list with members', { ...asked, context: { list: Object.assign([1], { amount: 2 }) } }, 'context.list'],
    ['a member __proto__', { ...asked, context: JSON.parse('{"__proto__": {"amount": 1}}') }, '__proto__'],
    ['what doubles sixty times', { ...asked, context: { laughs } }, 'more than'],
    ['what is nested too deep', { ...asked, context: { deep } }, 'too deep'],
  ])('cannot be asked with %s', (_what, request, message) => {
    expect(() => read(request)).toThrow(TypeError)
    expect(() => read(request)).toThrow(message)
  })

  it.each([
    ['action', ''],
    ['agent_id', ''],
    ['resource', 'order:undefined'],
    ['agent_id', 'user:null'],
    ['action', 'payment..refund'],
  ])('cannot be asked when a value was missing for its %s %j', (field, text) => {
    expect(() => read({ ...asked, [field]: text })).toThrow(expect.objectContaining({ reason: 'question_refused' }))
  })

  it('cannot be asked for the agent of a client when a value was missing for that', () => {
    expect(() => readQuestion({ action: 'order.read' }, () => 'agent:undefined')).toThrow(
      'agent_id of this call has the part',
    )
  })
})
