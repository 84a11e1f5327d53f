/** The refund desk of the reference: one policy and one question for each of its answers. */
import { expect } from 'vitest'
import type { Answer, RunningServer } from '../running-server.js'

export const REFUNDS = {
  name: 'refunds',
  agents: ['agent:support-*'],
  rules: [
    { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
    {
      action: 'payment.refund',
      effect: 'review',
      conditions: { 'context.amount': { $lte: 1000 } },
      reason: 'Refunds over 100 need a person.',
    },
    { action: 'payment.refund', effect: 'deny' },
  ],
}

const ASKED = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }
export const ALLOWED = { ...ASKED, context: { amount: 42.5, currency: 'EUR' } }
export const REVIEWED = { ...ASKED, context: { amount: 420, currency: 'EUR' } }
export const DENIED = { ...ASKED, context: { amount: 1500, currency: 'EUR' } }

/** The answer's body, of a call that has to succeed. */
// biome-ignore lint/suspicious/noExplicitAny: answers are whatever JSON came; tests assert what they read of it
export async function succeed(answer: Promise<Answer>): Promise<any> {
  const { status, body } = await answer
  expect(status, JSON.stringify(body)).toBeLessThan(300)
  return body
}

let policies = 0

/** A policy of a fresh name that allows every agent the action. */
export function allowing(action: string) {
  return { name: `allows ${action} ${policies++}`, rules: [{ action, effect: 'allow' }] }
}

export function createPolicy(server: RunningServer, document: object) {
  return succeed(server.call('POST', '/v1/policies', { body: document }))
}

export function decide(server: RunningServer, request: object, key?: string) {
  return succeed(server.call('POST', '/v1/decisions', { body: request, ...(key !== undefined && { key }) }))
}

/** The text and id of a new key. */
export async function makeKey(
  server: RunningServer,
  scopes: readonly string[],
  options: { readonly agents?: readonly string[]; readonly expires_at?: string } = {},
): Promise<{ readonly id: string; readonly key: string }> {
  return succeed(
    server.call('POST', '/v1/keys', { body: { name: scopes.join(' ').slice(0, 128), scopes, ...options } }),
  )
}

/** All items of a list, newest first. */
// biome-ignore lint/suspicious/noExplicitAny: see succeed
export async function everyItem(server: RunningServer, path: string): Promise<any[]> {
  const items = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { data: unknown[]; next_cursor: string | null } = await succeed(
      server.call('GET', `${path}${path.includes('?') ? '&' : '?'}limit=200${cursor && `&cursor=${cursor}`}`),
    )
    items.push(...page.data)
    cursor = page.next_cursor
  }
  return items
}
