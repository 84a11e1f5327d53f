import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { compilePolicies, evaluate, lint, withPolicy } from '@countersign/engine'
import { describe, expect, it } from 'vitest'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const FACTS = { now: new Date('2026-11-21T10:00:00.000Z'), suspended: false, metadata: null }
const BODY_CHARACTERS = 60_000
const MEGABYTE = 1024 * 1024

/** How many megabytes of the heap are held after the work that were not held before. */
function heldAfter(work: () => unknown): number {
  const used = () => {
    collectGarbage()
    collectGarbage()
    return process.memoryUsage().heapUsed / MEGABYTE
  }
  const before = used()
  const kept = work()
  const held = used() - before
  expect(kept).toBeDefined()
  return held
}

/** The text of a request; what is cut out of it keeps it in memory as a whole. */
function bodyOf(agent: string): string {
  return JSON.stringify({ agent_id: agent, action: `payment.refund-of-${agent}`, note: 'x'.repeat(BODY_CHARACTERS) })
}

function cutOut(body: string, member: string): string {
  const from = body.indexOf(`"${member}":"`) + member.length + 4
  return body.slice(from, body.indexOf('"', from))
}

describe('what users send', () => {
  it('is not kept by a set that has answered requests cut out of 60 KB each', () => {
    const set = compilePolicies([{ id: 'pol_1', revision: 1, name: 'p', rules: [{ action: '*', effect: 'allow' }] }])
    const held = heldAfter(() => {
      for (let at = 0; at < 2_000; at += 1) {
        const body = bodyOf(`agent:support-desk-${at}`)
        const request = { agent_id: cutOut(body, 'agent_id'), action: cutOut(body, 'action'), resource: null }
        expect(evaluate(set, { ...request, context: { note: cutOut(body, 'note') } }, FACTS).effect).toBe('allow')
      }
      return set
    })
    expect(held).toBeLessThan(10)
  })

  it('is not kept once a policy with a long path was compiled or linted and let go', () => {
    const policyOf = (at: number) => ({
      id: `pol_${at}`,
      revision: 1,
      name: 'p',
      rules: [
        {
          action: '*',
          effect: 'allow' as const,
          conditions: { [`context.f${at}.${'x'.repeat(20_000)}`]: { $eq: { $ref: `agent.f${at}${'y'.repeat(500)}` } } },
        },
      ],
    })
    const empty = compilePolicies([])
    const held = heldAfter(() => {
      for (let at = 0; at < 5_000; at += 1) {
        expect(compilePolicies([policyOf(at)]).size + withPolicy(empty, policyOf(at)).size).toBe(2)
        if (at % 10 === 0) expect(lint(policyOf(at))).toEqual([])
      }
      return empty
    })
    expect(held).toBeLessThan(10)
  })
})
