import type { ReceivedEvent } from '@countersign/client'
import { describe, expect, it } from 'vitest'
import { FORWARDED_TYPES, forwardedMessages } from './forwarded-message.js'

const all = new Set<string>(FORWARDED_TYPES)
const timestamp = '2026-11-21T10:00:00.000Z'

function event(type: string, data: object = {}, sequence: number | null = 1): ReceivedEvent {
  return { id: 'cur_1', type, timestamp, sequence, data: { id: 'dec_1', effect: 'allow', ...data } } as ReceivedEvent
}

const typesOf = (given: ReceivedEvent, wanted: ReadonlySet<string> = all) =>
  forwardedMessages(given, wanted).map(({ type }) => type)

describe('a forwarded message', () => {
  it('has the body of a webhook', () => {
    const [{ body } = { body: Buffer.of() }] = forwardedMessages(event('decision.approved'), all)
    expect(body.toString()).toBe(
      `{"type":"decision.approved","timestamp":"${timestamp}","sequence":1,"data":{"id":"dec_1","effect":"allow"}}`,
    )
  })

  it('is there twice for a creation that denies or awaits a review', () => {
    expect(typesOf(event('decision.created'))).toEqual(['decision.created'])
    expect(typesOf(event('decision.created', { effect: 'log' }))).toEqual(['decision.created'])
    expect(typesOf(event('decision.created', { effect: 'deny' }))).toEqual(['decision.created', 'decision.denied'])
    const review = event('decision.created', { effect: 'review' })
    expect(typesOf(review)).toEqual(['decision.created', 'decision.review_requested'])
    expect(JSON.parse(String(forwardedMessages(review, all)[1]?.body)).type).toBe('decision.review_requested')
    expect(typesOf(event('decision.expired', { effect: 'review' }))).toEqual(['decision.expired'])
  })

  it('is there only for what is wanted, and for what webhooks are told of', () => {
    expect(typesOf(event('decision.created', { effect: 'deny' }), new Set(['decision.denied']))).toEqual([
      'decision.denied',
    ])
    expect(typesOf(event('decision.claimed'))).toEqual([])
    expect(typesOf(event('decision.redeemed'))).toEqual([])
  })

  it('has an id that is the same each time, and of this change alone', () => {
    const idsOf = (...args: Parameters<typeof event>) => forwardedMessages(event(...args), all).map(({ id }) => id)
    const ids = [
      ...idsOf('decision.created', { effect: 'deny' }),
      ...idsOf('decision.corrected'),
      ...idsOf('decision.corrected', {}, 2),
      ...idsOf('decision.corrected', { id: 'dec_2' }),
    ]
    expect(new Set(ids).size).toBe(5)
    for (const id of ids) expect(id).toMatch(/^evt_01[0-9a-hjkmnp-tv-z]{24}$/)
    expect(idsOf('decision.corrected')).toEqual(idsOf('decision.corrected'))
    // Ids that receivers have kept stay known.
    expect(idsOf('decision.corrected')).toEqual(['evt_01m7yrrt80edyry31m5vqjad5x'])
  })
})
