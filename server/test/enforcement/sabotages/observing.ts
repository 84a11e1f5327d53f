import type { EnforcementEvent } from '@countersign/client'
import { type PlainCall, type PlainWay, protectAdapter, protectWay } from '../plain-functions.js'
import { overhearing, sabotagesBy, telling, withOptions } from './breaking.js'

const runs = (what: string): string => `in the mode observe runs what ${what} once`

/** Of watching before enforcing. */
export const OBSERVING_SABOTAGES = sabotagesBy([
  {
    what: 'enforces in the mode observe',
    way: withOptions({ mode: 'enforce' }),
    caughtBy: [
      runs('is denied'),
      runs('no policy is about'),
      runs('would await a review'),
      'in the mode observe runs also without a decision point',
    ],
  },
  {
    what: 'enforces in the mode observe what cannot be mapped',
    way: withOptions({ mode: 'enforce' }, protectWay),
    sound: protectAdapter,
    caughtBy: ['in the mode observe runs also what cannot be mapped to a question'],
  },
  {
    what: 'tells nothing in the mode observe',
    way: telling((event) => (event.type === 'observed' ? undefined : event)),
    caughtBy: [
      runs('is allowed'),
      runs('is only to be recorded'),
      runs('is denied'),
      runs('no policy is about'),
      runs('would await a review'),
      'in the mode observe runs also without a decision point',
    ],
  },
  {
    what: 'says of everything in the mode observe that it would have run',
    way: telling((event) => (event.type === 'observed' ? { ...event, would: 'allow' } : event)),
    caughtBy: [
      runs('is denied'),
      runs('no policy is about'),
      runs('would await a review'),
      'in the mode observe runs also without a decision point',
    ],
  },
  {
    what: 'rejects in the mode observe what ran',
    way: withOptions({ settleOn: ({ kind }) => (kind === 'succeeded' ? { settle: 'reject' } : undefined) }),
    caughtBy: [runs('is allowed'), runs('is only to be recorded')],
  },
  {
    what: 'confirms in the mode observe what was not authorized',
    way: confirmingAll,
    caughtBy: [runs('is denied'), runs('no policy is about'), runs('would await a review')],
  },
])

function confirmingAll(calling: PlainCall): ReturnType<PlainWay> {
  return overhearing(calling, async (events, sound) => {
    const value = await sound()
    const ids = events.filter(isDecision).map(({ decision }) => decision.id)
    await Promise.allSettled(ids.map((id) => calling.client.decisions.confirm(id)))
    return value
  })
}

function isDecision(event: EnforcementEvent): event is Extract<EnforcementEvent, { type: 'decision' }> {
  return event.type === 'decision'
}
