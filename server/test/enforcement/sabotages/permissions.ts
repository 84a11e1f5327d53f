import { DeniedError } from '@countersign/client'
import {
  givenOf,
  guardWay,
  type PlainWay,
  protectAdapter,
  protectWay,
  questionOf,
  quotingAdapter,
} from '../plain-functions.js'
import { inSpiteOf, sabotagesBy, withAct, withCall, withOptions } from './breaking.js'

/** Of what may run, how often, and with what. */
export const PERMISSION_SABOTAGES = sabotagesBy([
  {
    what: 'ignores a deny',
    way: inSpiteOf(({ reason }) => reason === 'denied'),
    caughtBy: [
      'does not run what is denied',
      'does not run what no policy is about',
      'lets run as many of eight parallel calls as the budget pays for',
    ],
  },
  {
    what: 'asks for a new review each time',
    way: withCall((call) => ({ ...call, idempotencyKey: call.idempotencyKey ?? crypto.randomUUID() })),
    caughtBy: ['takes up its own review when the same call comes again without a key'],
  },
  {
    what: 'keeps to itself why a person declined',
    way: rewording(() => ({})),
    caughtBy: ['tells the caller what the person wrote who declined'],
  },
  {
    what: 'lets a person who declined speak for it',
    way: rewording(({ comment }) => ({ detail: comment ?? '' })),
    caughtBy: ['tells the caller what the person wrote who declined'],
  },
  {
    what: 'keeps to itself what the person wrote who approved',
    way: guardWay,
    sound: quotingAdapter,
    caughtBy: ['tells a model what the person wrote who approved'],
  },
  {
    what: 'does not run what is only to be recorded',
    way: async (calling) => {
      const { effect } = await calling.client.authorize(questionOf(calling.call))
      if (effect === 'log') throw new DeniedError('denied')
      return guardWay(calling)
    },
    caughtBy: ['runs what is only to be recorded'],
  },
  {
    what: 'runs twice',
    way: withAct(async (act) => {
      await act()
      return act()
    }),
    caughtBy: [
      'runs what is allowed once',
      'runs what is only to be recorded',
      'in the mode observe runs what is allowed once',
      'in the mode observe runs what is denied once',
    ],
  },
  {
    what: 'runs one of two calls with the permission of the other',
    way: remembering(),
    caughtBy: ['keeps apart what runs at once'],
  },
  {
    what: 'gives the action the arguments as they are when it runs',
    way: ({ act, call, ...calling }) => guardWay({ ...calling, call, act: () => act(givenOf(call)) }),
    caughtBy: ['runs what was asked about'],
  },
  {
    what: 'asks about something else than it runs',
    way: ({ act, call, ...calling }) => {
      const asked = { ...call, context: { amount: 1 } }
      return guardWay({ ...calling, call: asked, act: () => act(givenOf(call)) })
    },
    caughtBy: ['asks about the very agent, action, resource and context that run'],
  },
  {
    what: 'asks about no resource',
    way: ({ act, call, ...calling }) =>
      calling.client.guard(
        { agent_id: call.agent_id, action: call.action, context: call.context },
        async () => (await act(givenOf(call))).value,
        calling.options,
      ),
    caughtBy: ['asks about the very agent, action, resource and context that run'],
  },
  {
    what: 'runs what cannot be mapped to a question',
    way: inSpiteOf(({ reason }) => reason === 'mapping_failed', protectWay),
    sound: protectAdapter,
    caughtBy: ['runs and sends nothing when what maps the call to a question throws'],
  },
  {
    what: 'runs what nobody has named an action for',
    way: inSpiteOf(({ reason }) => reason === 'unmapped', protectWay),
    sound: protectAdapter,
    caughtBy: ['runs and sends nothing when nobody says which action it is'],
  },
  {
    what: 'asks about a name that has a part which looks like a value that was missing',
    way: async (calling) => {
      try {
        return await guardWay(calling)
      } catch (error) {
        if (!DeniedError.isInstance(error) || error.reason !== 'question_refused') throw error
        await calling.client.authorize(questionOf(calling.call))
        throw error
      }
    },
    caughtBy: [
      'runs and sends nothing when what maps the call misspells',
      'runs and sends nothing when a part of the resource or the agent',
      'runs and sends nothing when a part of the action',
    ],
  },
  {
    what: 'runs what a misspelt member names',
    way: inSpiteOf(({ reason }) => reason === 'question_refused', protectWay),
    sound: protectAdapter,
    caughtBy: [
      'runs and sends nothing when what maps the call misspells',
      'runs and sends nothing when a part of the resource or the agent',
    ],
  },
  {
    what: 'runs what awaits a review',
    way: inSpiteOf(({ reason }) => reason === 'review_required'),
    caughtBy: ['does not run what awaits a review', 'waits for a person no longer than it was told to'],
  },
  {
    what: 'takes any answer of a person for a yes',
    way: inSpiteOf(({ reason }) => reason === 'declined'),
    caughtBy: ['waits for a person, and does not run what was declined'],
  },
  {
    what: 'runs what nobody has reviewed in time',
    way: inSpiteOf(({ reason }) => reason === 'expired'),
    caughtBy: ['waits for a person, and does not run what nobody answered'],
  },
  {
    what: 'does not wait for a person',
    way: withOptions({ review: 'throw' }),
    caughtBy: ['waits for a person, and runs what was approved once'],
    neverComes: 'a look at what became of the review',
  },
  {
    what: 'runs what somebody else has claimed',
    way: inSpiteOf(({ reason }) => reason === 'already_claimed'),
    caughtBy: ['runs in one of four processes that race'],
  },
  {
    what: 'runs what has run before',
    way: inSpiteOf(({ reason }) => reason === 'settled'),
    caughtBy: ['does not run again what was confirmed', 'does not run again what was rejected'],
  },
  {
    what: 'runs as often as it is asked to what was approved once',
    way: inSpiteOf(({ reason }) => reason === 'settled' || reason === 'already_claimed'),
    caughtBy: ['runs what was approved meanwhile when the same call is made again, once'],
  },
  {
    what: 'asks for another review when the same call is made again',
    way: withCall((call) => ({ ...call, idempotencyKey: crypto.randomUUID() })),
    caughtBy: ['runs what was approved meanwhile when the same call is made again, once'],
  },
  {
    what: 'runs two calls that are made with one key',
    way: withCall(({ idempotencyKey: _dropped, ...call }) => call),
    caughtBy: ['runs one of two calls that are made with one key'],
    neverComes: 'the refusal of one of them while the other runs',
  },
])

/** Who was permitted once is permitted for ever. */
function remembering(): PlainWay {
  const permitted = new Map<string, Promise<unknown>>()
  return async (calling) => {
    const { action, agent_id } = calling.call
    const name = `${agent_id} ${action}`
    const before = permitted.get(name)
    if (before === undefined) {
      const running = guardWay(calling)
      permitted.set(name, running)
      return running
    }
    await before
    return (await calling.act(givenOf(calling.call))).value
  }
}

/** Refuses in other words. */
function rewording(fieldsOf: (denied: DeniedError) => { readonly detail?: string }): PlainWay {
  return (calling) =>
    guardWay(calling).catch((error: unknown) => {
      if (!DeniedError.isInstance(error)) throw error
      const { reason, decision_id } = error
      throw new DeniedError(reason, { decision_id, ...fieldsOf(error) })
    })
}
