import type { GuardRun } from '@countersign/client'
import { givenOf, type PlainCall, type PlainWay, questionOf } from '../plain-functions.js'
import { overhearing, sabotagesBy } from './breaking.js'

const RAN = 'shows its caller no permit and nothing of a policy when the action ran'

/** Of what nobody is shown. */
export const SECRET_SABOTAGES = sabotagesBy([
  {
    what: 'shows the permit to its caller',
    way: running(async ({ permit_token }, act) => ({ ...(await act()), permit_token })),
    caughtBy: [RAN],
  },
  {
    what: 'shows the permit in the error of the action',
    way: running(({ permit_token }, act) =>
      act().catch((error: Error) => Promise.reject(Object.assign(error, { permit_token }))),
    ),
    caughtBy: ['shows its caller no permit and nothing of a policy when the action failed'],
  },
  {
    what: 'tells the permit to who listens',
    way: running(async ({ permit_token }, act, { options }) => {
      options.onEvent?.({ type: 'decision', permit_token } as never)
      return act()
    }),
    caughtBy: [RAN],
  },
  {
    what: 'names the policy to its caller',
    way: (calling) =>
      overhearing(calling, async (events, sound) => {
        const policyIds = () => events.map((event) => (event.type === 'decision' ? event.decision.policy_id : null))
        return sound().catch((error: object) => {
          throw Object.assign(error, { policy_ids: policyIds() })
        })
      }),
    caughtBy: [
      'shows its caller nothing of a policy when the action is denied',
      'shows its caller nothing of a policy when a review is required',
      'shows its caller no permit and nothing of a policy when the action failed',
    ],
  },
])

type Running = (run: GuardRun, act: () => Promise<object>, calling: PlainCall) => Promise<unknown>

/** Runs the action in another way. */
function running(broken: Running): PlainWay {
  return (calling) => {
    const { client, options, act, call } = calling
    const acting = async (): Promise<object> => (await act(givenOf(call))).value
    return client.guard(questionOf(call), (_asked, run) => broken(run, acting, calling), options)
  }
}
