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
  expect(kept.length).toBeLessThanOrEqual(16_777)
})

it('counts the lengths of agents and actions', () => {
  const memo = new Memo<number>()
  const agents = Array.from({ length: 500 }, (_, at) => `${at}`.padEnd(100_000, 'x'))
  for (const agent of agents) memo.set(agent, 'x', 1, 0)
  expect(agents.filter((agent) => memo.get(agent, 'x')).length).toBeLessThanOrEqual(42)
  memo.set('a', 'x'.repeat(5_000_000), 1, 0)
  expect(memo.get('a', 'x'.repeat(5_000_000))).toBeUndefined()
})

it('counts what the values hold, and keeps no value that would fill it alone', () => {
  const memo = new Memo<string>()
  memo.set('a', 'x', 'huge', 2_000_000)
  expect(memo.get('a', 'x')).toBeUndefined()
  for (let at = 0; at < 10; at += 1) memo.set(`agent-${at}`, 'x', 'large', 500_000)
  const kept = Array.from({ length: 10 }, (_, at) => memo.get(`agent-${at}`, 'x')).filter(Boolean)
  expect(kept.length).toBeLessThanOrEqual(2)
})
