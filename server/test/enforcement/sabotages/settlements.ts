import type { EnforcementAdapter, OpenedGuard, Sabotage } from '@countersign/testkit/enforcement-suite'
import { ownSettlementAdapter, ownSettlements, ownSettlementWay } from '../own-settlements.js'
import { givenOf, guardAdapter, guardWay, type PlainCall, type PlainWay, questionOf } from '../plain-functions.js'
import { overhearing, sabotagesBy, withAct, withOptions } from './breaking.js'

const LOST = 'leaves open what lost its answer, as'
const SAYS = 'rejects what gave back a value that says by'
const IN_VAIN = 'gives its caller the result when the decision point'

/** Of what the decision point is told, and of callers that leave. */
export const SETTLEMENT_SABOTAGES: readonly Sabotage[] = [
  ...sabotagesBy([
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
      caughtBy: ['tells nothing before the action has ended'],
    },
    {
      what: 'forgets to settle',
      way: withOptions({ settleOn: () => ({ settle: 'leave' }) }),
      caughtBy: ['runs what is allowed once', 'runs what is only to be recorded'],
      neverComes: 'the confirmation',
    },
    {
      what: 'runs again what failed',
      way: withAct((act) => act().catch(act)),
      caughtBy: ['rejects what failed'],
    },
    {
      what: 'swallows the error of the action',
      way: withAct((act) => act().catch(() => ({ value: {} }))),
      caughtBy: ['rejects what failed'],
    },
    {
      what: 'gives the caller another error than that of the action',
      way: (calling) =>
        guardWay(calling).catch((error: unknown) => {
          throw new Error('the action failed', { cause: error })
        }),
      caughtBy: ['rejects what failed'],
    },
    {
      what: 'confirms what failed',
      way: settling('failed', { settle: 'confirm' }),
      caughtBy: ['rejects what failed'],
    },
    {
      what: 'confirms whatever was given back',
      way: ownSettlements({ isFailure: () => false }),
      sound: ownSettlementAdapter,
      caughtBy: [`${SAYS} isError`, `${SAYS} its status`],
    },
    {
      what: 'knows a value that says so by isError alone',
      way: ownSettlements({ isFailure: ({ isError }) => isError === true }),
      sound: ownSettlementAdapter,
      caughtBy: [`${SAYS} its status`],
    },
    {
      what: 'leaves open what failed',
      way: settling('failed', { settle: 'leave' }),
      caughtBy: ['rejects what failed'],
      neverComes: 'the rejection',
    },
    {
      what: 'does not ask settleOn',
      way: withOptions({ settleOn: undefined }),
      caughtBy: ['settles what failed in the way that settleOn says'],
    },
    {
      what: 'does not ask onError before it rejects',
      way: withOptions({ onError: undefined }),
      caughtBy: ['leaves open what failed, where onError says so'],
    },
    {
      what: 'does not ask onError before it leaves open',
      way: withOptions({ onError: undefined }),
      caughtBy: ['rejects what lost its answer, where onError says so'],
      neverComes: 'the rejection',
    },
    {
      what: 'rejects what may have happened',
      way: settling('unknown', { settle: 'reject' }),
      caughtBy: [`${LOST} a code`, 'leaves open what was cut off because its caller left'],
    },
    {
      what: 'knows a lost answer by codes alone',
      way: rejectingUnless((error) => chainOf(error).some(({ code }) => code === 'ECONNRESET')),
      caughtBy: [`${LOST} its words`, `${LOST} the name of its class`, `${LOST} a status`],
    },
    {
      what: 'takes a fault of the program for a failure of the action',
      way: rejectingUnless((error) => !(error instanceof TypeError)),
      caughtBy: ['leaves open what ended with a fault of the program'],
    },
    {
      what: 'looks at the outermost error alone',
      way: rejectingUnless((error) => !('cause' in error) && !(error instanceof AggregateError)),
      caughtBy: [`${LOST} a cause of its cause`, `${LOST} one of the errors`],
    },
    {
      what: 'leaves open what has to do with a connection at all',
      way: withOptions({
        settleOn: (outcome) =>
          outcome.kind === 'failed' && chainOf(outcome.error as Faulty).some(({ code }) => code !== undefined)
            ? { settle: 'leave' }
            : undefined,
      }),
      caughtBy: ['rejects what was surely refused, so', 'rejects what was surely refused by everybody'],
      neverComes: 'the rejection',
    },
    {
      what: 'rejects what never ended',
      way: settling('unknown', { settle: 'reject' }, ownSettlementWay),
      sound: ownSettlementAdapter,
      caughtBy: ['leaves open what never ends after its caller has left'],
    },
    {
      what: 'confirms what was reserved, whatever it cost',
      way: withAct(async (act) => ({ value: (await act()).value })),
      caughtBy: ['confirms what the action really cost'],
    },
    {
      what: 'makes up what it cost',
      way: withAct(async (act) => ({ amount: 1, ...(await act()) })),
      caughtBy: ['confirms what was reserved, unless the action says'],
    },
    {
      what: 'never settles what ends late',
      way: (calling) => {
        const isLate = (): boolean => calling.call.signal?.aborted === true
        return withOptions({ settleOn: () => (isLate() ? { settle: 'leave' } : undefined) })(calling)
      },
      caughtBy: ['confirms what succeeded after its caller had left'],
      neverComes: 'the confirmation',
    },
    {
      what: 'fails when it cannot settle at once',
      way: async (calling) => {
        const value = await guardWay(calling)
        if ((await calling.client.flush({ timeoutMs: 1 })) > 0) throw new Error('not settled')
        return value
      },
      caughtBy: [`${IN_VAIN} has a fault`, `${IN_VAIN} breaks off`, `${IN_VAIN} hangs`],
    },
    {
      what: 'fails when its settlement is refused',
      way: (calling) =>
        overhearing(calling, async (events, sound) => {
          const value = await sound()
          if (events.some(({ type }) => type === 'settlement_failed')) throw new Error('not settled')
          return value
        }),
      caughtBy: ['gives its caller the result when somebody else has settled the decision meanwhile'],
    },
    {
      what: 'lets its caller wait until it could settle',
      way: withOptions({ settleTimeoutMs: 600_000 }),
      caughtBy: [`${IN_VAIN} hangs`],
      neverComes: 'the result',
    },
    {
      what: 'goes on when its caller has left',
      way: ({ call: { signal: _dropped, ...call }, ...calling }) =>
        withOptions({ timeoutMs: 600_000 })({ ...calling, call }),
      caughtBy: [
        'does not run what its caller left before it was permitted',
        'does not run what its caller left before a person approved it',
      ],
      neverComes: 'an end for the caller',
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
      caughtBy: ['does not run what its caller left before it was permitted'],
      neverComes: 'the rejection',
    },
  ]),
  ...['has a fault', 'breaks off', 'hangs'].map((how) => forgetting(`when it ${how}`, `${IN_VAIN} ${how}`)),
  forgetting(
    'when the action failed',
    'gives its caller the own error of the action when it cannot be rejected at once',
  ),
  {
    what: 'says that everything is told',
    sound: guardAdapter,
    broken: withOpened(() => ({ flush: async () => 0 })),
    caughtBy: ['says by flush how many settlements are open'],
    neverComes: 'how many are open',
  },
]

/** What could not be told at once is gone. */
function forgetting(when: string, caughtBy: string): Sabotage {
  // Before the decision point is there again, so that nothing is told in the background either.
  const broken = withOpened((opened) => ({
    async call(call) {
      const outcome = await opened.call(call)
      await opened.close()
      return outcome
    },
    flush: async () => 0,
  }))
  const what = `forgets what it could not tell at once, ${when}`
  return { what, broken, sound: guardAdapter, caughtBy: [caughtBy], neverComes: 'the settlement' }
}

/** An error as actions of the suite throw them. */
type Faulty = Error & { readonly code?: string; readonly errors?: readonly Faulty[] }

function chainOf(error: Faulty): readonly Faulty[] {
  const { cause, errors = [] } = error
  return [error, ...[...(cause === undefined ? [] : [cause as Faulty]), ...errors].flatMap(chainOf)]
}

/** Rejects what lost its answer, unless it notices. */
function rejectingUnless(notices: (error: Faulty) => boolean): PlainWay {
  const settleOn: PlainCall['options']['settleOn'] = (outcome) =>
    outcome.kind === 'unknown' && !notices(outcome.error as Faulty) ? { settle: 'reject' } : undefined
  return withOptions({ settleOn })
}

function settling(
  kind: 'failed' | 'unknown',
  settlement: { readonly settle: 'confirm' | 'reject' | 'leave' },
  sound: PlainWay = guardWay,
): PlainWay {
  const settleOn: PlainCall['options']['settleOn'] = (outcome) => (outcome.kind === kind ? settlement : undefined)
  return withOptions({ settleOn }, sound)
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
