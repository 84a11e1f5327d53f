import { expect, it } from 'vitest'
import { Memo } from './memo.js'

it('remembers by agent and action', () => {
  const memo = new Memo<number>()
  memo.set('a', 'x', 1, 0)
  memo.set('a', 'y', 2, 0)
  memo.set('b', 'x', 3, 0)
  expect([memo.get('a', 'x'), memo.get('a', 'y'), memo.get('b', 'x'), memo.get('b', 'y')]).toEqual([1, 2, 3, undefined])
})

it('stays bounded when a caller invents agents and actions', () => {
  const memo = new Memo<number>()
  const pairs = Array.from({ length: 50_000 }, (_, at) => [`agent-${at}`, `action-${at % 7}`] as const)
  for (const [agent, action] of pairs) memo.set(agent, action, 1, 0)
  const kept = pairs.filter(([agent, action]) => memo.get(agent, action) !== undefined)
  expect(kept.length).toBeGreaterThan(0)
  expect(kept.length).toBeLessThanOrEqual(12_500)
})

it('counts what the values hold, and keeps no value that would fill it alone', () => {
  const memo = new Memo<string>()
  memo.set('a', 'x', 'huge', 1_000_000)
  expect(memo.get('a', 'x')).toBeUndefined()
  for (let at = 0; at < 10; at += 1) memo.set(`agent-${at}`, 'x', 'large', 40_000)
  const kept = Array.from({ length: 10 }, (_, at) => memo.get(`agent-${at}`, 'x')).filter(Boolean)
  expect(kept.length).toBeLessThanOrEqual(2)
})
