/** Guards that break one promise each on top of a sound one, with the case of the suite that has to notice. */
import { ApiError, DeniedError, type EnforcementEvent } from '@countersign/client'
import type { EnforcementAdapter, Given, GuardedCall, OpenedGuard } from '@countersign/testkit/enforcement-suite'
import {
  guardAdapter,
  guardWay,
  type PlainCall,
  type PlainWay,
  plainAdapter,
  protectWay,
  questionOf,
} from './plain-functions.js'

interface Sabotage {
  readonly what: string
  readonly broken: EnforcementAdapter
  /** The beginning of the title of the case that fails. */
  readonly caughtBy: string
}

interface BrokenWay {
  readonly what: string
  readonly way: PlainWay
  readonly caughtBy: string
}

const WAYS: readonly BrokenWay[] = [
  {
    what: 'ignores a deny',
    way: inSpiteOf(({ reason }) => reason === 'denied'),
    caughtBy: 'does not run what is denied',
  },
  {
    what: 'runs what no policy is about',
    way: inSpiteOf(({ reason }) => reason === 'denied'),
    caughtBy: 'does not run what no policy is about',
  },
  {
    what: 'runs what its budget does not pay for',
    way: inSpiteOf(({ reason }) => reason === 'denied'),
    caughtBy: 'lets run as many of eight parallel calls as the budget pays for',
  },
  {
    what: 'runs what awaits a review',
    way: inSpiteOf(({ reason }) => reason === 'review_required'),
    caughtBy: 'does not run what awaits a review',
  },
  {
    what: 'runs what awaits a review once it has waited long enough',
    way: inSpiteOf(({ reason }) => reason === 'review_required'),
    caughtBy: 'waits for a person no longer than it was told to',
  },
  {
    what: 'takes any answer of a person for a yes',
    way: inSpiteOf(({ reason }) => reason === 'declined'),
    caughtBy: 'waits for a person, and does not run what was declined',
  },
  {
    what: 'runs what nobody has reviewed in time',
    way: inSpiteOf(({ reason }) => reason === 'expired'),
    caughtBy: 'waits for a person, and does not run what nobody answered',
  },
  {
    what: 'does not wait for a person',
    way: (calling) => guardWay(withOptions(calling, { review: 'throw' })),
    caughtBy: 'waits for a person, and runs what was approved once',
  },
  {
    what: 'runs without a decision point',
    way: inSpiteOf(({ reason }) => reason === 'unavailable'),
    caughtBy: 'runs nothing when the decision point cannot be reached',
  },
  {
    what: 'runs when it is told to come back later',
    way: inSpiteOf(({ cause }) => ApiError.isInstance(cause) && cause.status === 429),
    caughtBy: 'runs nothing when the decision point answers 429 for a minute',
  },
  {
    what: 'runs when the decision point has a fault of its own',
    way: inSpiteOf(({ cause }) => ApiError.isInstance(cause) && cause.status === 500),
    caughtBy: 'runs nothing when the decision point answers 500',
  },
  {
    what: 'runs when its own key is refused',
    way: inSpiteOf(({ reason }) => reason === 'refused'),
    caughtBy: 'runs nothing when the decision point does not know the key',
  },
  {
    what: 'takes an unknown effect for allow',
    way: inSpiteOf(({ cause }) => cause instanceof Error && cause.message.includes('a known effect')),
    caughtBy: 'runs nothing when the decision point answers with an unknown effect',
  },
  {
    what: 'takes an unknown status for authorized',
    way: inSpiteOf(({ cause }) => cause instanceof Error && cause.message.includes('a status that fits')),
    caughtBy: 'runs nothing when the decision point answers with an unknown status',
  },
  {
    what: 'runs on the decision of another agent',
    way: inSpiteOf(({ cause }) => cause instanceof Error && cause.message.includes('for another agent')),
    caughtBy: 'runs nothing when the decision point answers about another agent',
  },
  {
    what: 'runs on a decision that is over',
    way: inSpiteOf(({ reason }) => reason === 'expired'),
    caughtBy: 'runs nothing when the decision point answers what is over',
  },
  {
    what: 'waits for an answer for ever',
    way: (calling) => guardWay(withOptions(calling, { timeoutMs: 60_000 })),
    caughtBy: 'runs nothing when the decision point hangs',
  },
  {
    what: 'does not run what is only to be recorded',
    way: async (calling) => {
      const { effect } = await calling.client.authorize(questionOf(calling.call))
      if (effect === 'log') throw new DeniedError('denied')
      return guardWay(calling)
    },
    caughtBy: 'runs what is only to be recorded',
  },
  {
    what: 'runs twice',
    way: withAct(async (act) => {
      await act()
      return act()
    }),
    caughtBy: 'runs what is allowed once',
  },
  {
    what: 'runs again what failed',
    way: withAct((act) => act().catch(act)),
    caughtBy: 'rejects what failed',
  },
  {
    what: 'runs one of two calls with the permission of the other',
    way: remembering(),
    caughtBy: 'keeps apart what runs at once',
  },
  {
    what: 'runs what somebody else has claimed',
    way: inSpiteOf(({ reason }) => reason === 'already_claimed'),
    caughtBy: 'runs in one of four processes that race',
  },
  {
    what: 'runs what has run before',
    way: inSpiteOf(({ reason }) => reason === 'settled'),
    caughtBy: 'does not run again what was confirmed',
  },
  {
    what: 'does not pass on the key of a call',
    way: ({ call: { idempotencyKey: _dropped, ...call }, ...calling }) => guardWay({ ...calling, call }),
    caughtBy: 'runs one of two calls that are made with one key',
  },
  {
    what: 'gives the action the arguments as they are when it runs',
    way: ({ act, call, ...calling }) => {
      return guardWay({ ...calling, call, act: () => act(givenOf(call)) })
    },
    caughtBy: 'runs what was asked about',
  },
  {
    what: 'asks about something else than it runs',
    way: ({ act, call, ...calling }) => {
      const asked = { ...call, context: { amount: 1 } }
      return guardWay({ ...calling, call: asked, act: () => act(givenOf(call)) })
    },
    caughtBy: 'asks about the very agent, action, resource and context that run',
  },
  {
    what: 'asks about no resource',
    way: ({ act, call, ...calling }) =>
      calling.client.guard(
        { agent_id: call.agent_id, action: call.action, context: call.context },
        async () => (await act(givenOf(call))).value,
        calling.options,
      ),
    caughtBy: 'asks about the very agent, action, resource and context that run',
  },
  {
    what: 'settles before the action has run',
    way: ({ client, options, act, call }) =>
      client.guard(
        questionOf(call),
        async (_asked, { decision }) => {
          await client.decisions.confirm(decision?.id ?? '')
          return (await act(givenOf(call))).value
        },
        options,
      ),
    caughtBy: 'tells nothing before the action has ended',
  },
  {
    what: 'forgets to settle',
    way: (calling) => guardWay(withOptions(calling, { settleOn: () => ({ settle: 'leave' }) })),
    caughtBy: 'runs what is allowed once',
  },
  {
    what: 'swallows the error of the action',
    way: withAct((act) => act().catch(() => ({ value: {} }))),
    caughtBy: 'rejects what failed',
  },
  {
    what: 'gives the caller another error than that of the action',
    way: (calling) =>
      guardWay(calling).catch((error: unknown) => {
        throw new Error('the action failed', { cause: error })
      }),
    caughtBy: 'rejects what failed',
  },
  {
    what: 'confirms what failed',
    way: settling('failed', { settle: 'confirm' }),
    caughtBy: 'rejects what failed',
  },
  {
    what: 'leaves open what failed',
    way: settling('failed', { settle: 'leave' }),
    caughtBy: 'rejects what failed',
  },
  {
    what: 'does not ask settleOn',
    way: (calling) => guardWay(withOptions(calling, { settleOn: undefined })),
    caughtBy: 'settles what failed in the way that settleOn says',
  },
  {
    what: 'rejects what may have happened',
    way: settling('unknown', { settle: 'reject' }),
    caughtBy: 'leaves open what nobody knows the end of',
  },
  {
    what: 'rejects what was cut off',
    way: settling('unknown', { settle: 'reject' }),
    caughtBy: 'leaves open what was cut off because its caller left',
  },
  {
    what: 'confirms what was reserved, whatever it cost',
    way: withAct(async (act) => ({ value: (await act()).value })),
    caughtBy: 'confirms what the action really cost',
  },
  {
    what: 'never settles what ends late',
    way: (calling) => {
      const isLate = (): boolean => calling.call.signal?.aborted === true
      return guardWay(withOptions(calling, { settleOn: () => (isLate() ? { settle: 'leave' } : undefined) }))
    },
    caughtBy: 'confirms what succeeded after its caller had left',
  },
  {
    what: 'fails when it cannot settle',
    way: async (calling) => {
      const value = await guardWay(calling)
      if ((await calling.client.flush({ timeoutMs: 1 })) > 0) throw new Error('not settled')
      return value
    },
    caughtBy: 'gives its caller the result when the decision point has a fault',
  },
  {
    what: 'lets its caller wait until it could settle',
    way: (calling) => guardWay(withOptions(calling, { settleTimeoutMs: 60_000 })),
    caughtBy: 'gives its caller the result when the decision point hangs afterwards',
  },
  {
    what: 'goes on when its caller has left',
    way: ({ call: { signal: _dropped, ...call }, ...calling }) => guardWay({ ...calling, call }),
    caughtBy: 'does not run what its caller left before it was permitted',
  },
  {
    what: 'does not take back what its caller has left',
    way: async ({ client, call }) => {
      const { signal } = call
      const left = new Promise<never>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
      })
      await Promise.race([left, client.authorize(questionOf(call))])
    },
    caughtBy: 'does not run what its caller left before it was permitted',
  },
  {
    what: 'goes on waiting for a person when its caller has left',
    way: ({ call: { signal: _dropped, ...call }, ...calling }) => guardWay({ ...calling, call }),
    caughtBy: 'does not run what its caller left before a person approved it',
  },
  {
    what: 'runs what cannot be mapped to a question',
    way: inSpiteOf(({ reason }) => reason === 'mapping_failed', protectWay),
    caughtBy: 'runs and sends nothing when what maps the call to a question throws',
  },
  {
    what: 'runs what nobody has named an action for',
    way: inSpiteOf(({ reason }) => reason === 'unmapped', protectWay),
    caughtBy: 'runs and sends nothing when nobody says which action it is',
  },
  {
    what: 'enforces in the mode observe',
    way: (calling) => guardWay(withOptions(calling, { mode: 'enforce' })),
    caughtBy: 'in the mode observe runs what is denied once',
  },
  {
    what: 'stops in the mode observe when there is no decision point',
    way: (calling) => guardWay(withOptions(calling, { mode: 'enforce' })),
    caughtBy: 'in the mode observe runs also without a decision point',
  },
  {
    what: 'confirms in the mode observe what was not authorized',
    way: confirmingAll(),
    caughtBy: 'in the mode observe runs what is denied once',
  },
  {
    what: 'takes a review that nobody answered for approved in the mode observe',
    way: (calling) => {
      const events: EnforcementEvent[] = []
      const onEvent = (event: EnforcementEvent): void => {
        events.push(event.type === 'observed' ? { ...event, would: 'allow' } : event)
        calling.options.onEvent?.(events.at(-1) as EnforcementEvent)
      }
      return guardWay(withOptions(calling, { onEvent }))
    },
    caughtBy: 'in the mode observe runs what would await a review once',
  },
  {
    what: 'shows the permit to its caller',
    way: ({ client, options, act, call }) =>
      client.guard(
        questionOf(call),
        async (_asked, { permit_token }) => ({ ...(await act(givenOf(call))).value, permit_token }),
        options,
      ),
    caughtBy: 'shows its caller no permit and nothing of a policy when the action ran',
  },
  {
    what: 'shows the permit in the error of the action',
    way: ({ client, options, act, call }) =>
      client.guard(
        questionOf(call),
        (_asked, { permit_token }) =>
          act(givenOf(call)).catch((error: Error) => Promise.reject(Object.assign(error, { permit_token }))),
        options,
      ),
    caughtBy: 'shows its caller no permit and nothing of a policy when the action failed',
  },
  {
    what: 'tells the permit to who listens',
    way: ({ client, options, act, call }) =>
      client.guard(
        questionOf(call),
        async (_asked, { permit_token }) => {
          options.onEvent?.({ type: 'decision', permit_token } as never)
          return (await act(givenOf(call))).value
        },
        options,
      ),
    caughtBy: 'shows its caller no permit and nothing of a policy when the action ran',
  },
  {
    what: 'names the policy to its caller',
    way: (calling) => {
      let policy_id: string | null | undefined
      const onEvent = (event: EnforcementEvent): void => {
        if (event.type === 'decision') policy_id = event.decision.policy_id
        calling.options.onEvent?.(event)
      }
      return guardWay(withOptions(calling, { onEvent })).catch((error: object) => {
        throw Object.assign(error, { policy_id })
      })
    },
    caughtBy: 'shows its caller nothing of a policy when the action is denied',
  },
]

/** What does not happen within one call. */
const ADAPTERS: readonly Sabotage[] = [
  {
    what: 'forgets what it could not tell at once',
    broken: withOpened((opened) => ({
      async flush() {
        await opened.close()
        return 0
      },
    })),
    caughtBy: 'gives its caller the result when the decision point has a fault',
  },
  {
    what: 'forgets a rejection that it could not tell at once',
    broken: withOpened((opened) => ({
      async flush() {
        await opened.close()
        return 0
      },
    })),
    caughtBy: 'gives its caller the own error of the action when it cannot be rejected at once',
  },
  {
    what: 'says that everything is told',
    broken: withOpened(() => ({ flush: async () => 0 })),
    caughtBy: 'says by flush how many settlements are open',
  },
]

export const SABOTAGES: readonly Sabotage[] = [
  ...WAYS.map(({ what, way, caughtBy }) => ({ what, broken: plainAdapter(`a guard that ${what}`, way), caughtBy })),
  ...ADAPTERS,
]

/** The arguments as the caller gave them. */
function givenOf({ resource, context }: GuardedCall): Given {
  return { resource, context }
}

/** Runs all the same, as it was called. */
function inSpiteOf(isIgnored: (denied: DeniedError) => boolean, sound: PlainWay = guardWay): PlainWay {
  return async (calling) => {
    try {
      return await sound(calling)
    } catch (error) {
      if (!DeniedError.isInstance(error) || !isIgnored(error)) throw error
      return (await calling.act(givenOf(calling.call))).value
    }
  }
}

function withOptions(calling: PlainCall, options: PlainCall['options']): PlainCall {
  return { ...calling, options: { ...calling.options, ...options } }
}

type Acting = () => ReturnType<PlainCall['act']>

function withAct(broken: (act: Acting) => ReturnType<PlainCall['act']>): PlainWay {
  return (calling) => guardWay({ ...calling, act: (given) => broken(() => calling.act(given)) })
}

function settling(
  kind: 'failed' | 'unknown',
  settlement: { readonly settle: 'confirm' | 'reject' | 'leave' },
): PlainWay {
  const settleOn: PlainCall['options']['settleOn'] = (outcome) => (outcome.kind === kind ? settlement : undefined)
  return (calling) => guardWay(withOptions(calling, { settleOn }))
}

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

function confirmingAll(): PlainWay {
  return async (calling) => {
    const ids: string[] = []
    const onEvent = (event: EnforcementEvent): void => {
      if (event.type === 'decision') ids.push(event.decision.id)
      calling.options.onEvent?.(event)
    }
    const value = await guardWay(withOptions(calling, { onEvent }))
    await Promise.allSettled(ids.map((id) => calling.client.decisions.confirm(id)))
    return value
  }
}

function withOpened(broken: (sound: OpenedGuard) => Partial<OpenedGuard>): EnforcementAdapter {
  return {
    ...guardAdapter,
    async open(setup) {
      const sound = await guardAdapter.open(setup)
      return { ...sound, ...broken(sound) }
    },
  }
}
