import type { JsonObject } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { parsePath, readPath } from './path.js'
import type { EngineRequest, Facts } from './request.js'

function read(path: string, context: JsonObject | null, changes: Partial<EngineRequest & Facts> = {}) {
  const now = new Date('2026-11-21T10:00:00.000Z')
  const request = { agent_id: 'agent:a', action: 'a.b', resource: null, context, ...changes }
  return readPath(parsePath(path), request, { now, suspended: false, metadata: null, ...changes })
}

describe('a path', () => {
  it('descends by own properties of objects', () => {
    expect(read('context.user.role', { user: { role: 'clerk' } })).toBe('clerk')
    expect(read('context.user', { user: { role: 'clerk' } })).toEqual({ role: 'clerk' })
    expect(read('context.user.role', Object.assign(Object.create(null), { user: { role: 'clerk' } }))).toBe('clerk')
    expect(read('agent.limit', null, { metadata: { limit: 5 } })).toBe(5)
  })

  it.each([
    'context.toString',
    'context.hasOwnProperty',
    'context.__proto__',
    'context.constructor.name',
    'context.__proto__.polluted',
    'context.text.length',
    'context.tags.0',
    'context.tags.length',
    'context.nothing.at.all',
    'context.missing',
  ])('finds nothing at %s', (path) => {
    const inherited = Object.create({ polluted: true, missing: 'inherited' }) as Record<string, never>
    expect(read(path, Object.assign(inherited, { text: 'abc', tags: ['a'], nothing: null }))).toBeUndefined()
  })

  it('reads what was parsed as an own __proto__ as any other key', () => {
    expect(read('context.__proto__', JSON.parse('{"__proto__": "own"}') as JsonObject)).toBe('own')
  })

  it('finds nothing in a request without context, resource or registration', () => {
    for (const path of ['context.a', 'resource', 'resource.type', 'resource.id', 'agent.a']) {
      expect(read(path, null)).toBeUndefined()
    }
  })

  it('splits a resource at its first colon', () => {
    const resource = 'order:8:12'
    expect(['resource', 'resource.type', 'resource.id'].map((path) => read(path, null, { resource }))).toEqual([
      'order:8:12',
      'order',
      '8:12',
    ])
  })

  it.each([
    ['2026-11-22T23:59:59.999Z', 23, 7],
    ['2026-11-23T00:00:00.000Z', 0, 1],
    ['2026-11-28T12:00:00.000+14:00', 22, 5],
  ])('reads the clock in UTC: %s', (instant, hour, weekday) => {
    const now = new Date(instant)
    expect([read('now.hour', null, { now }), read('now.weekday', null, { now })]).toEqual([hour, weekday])
  })

  it.each(['now', 'context', 'agent', 'resource.name', 'constructor', 'contextual.a'])('%s is none', (path) => {
    expect(() => parsePath(path)).toThrow(TypeError)
  })
})
