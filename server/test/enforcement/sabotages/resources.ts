import type { EnforcementAdapter, Sabotage } from '@countersign/testkit/enforcement-suite'
import { givenOf, guardWay, type PlainWay, plainAdapter } from '../plain-functions.js'
import { withOptions } from './breaking.js'

const CAUGHT_BY = ['gives an agent a gated resource only if']

/** Functions whose resources are read in this way, as a framework would that has any. */
function readingBy(name: string, way: PlainWay): EnforcementAdapter {
  const [actions, reads] = [plainAdapter(name, guardWay), plainAdapter(name, way)]
  return {
    ...actions,
    async open(setup) {
      const [acting, reading] = [await actions.open(setup), await reads.open(setup)]
      return {
        ...acting,
        read: (call) => reading.call(call),
        async close() {
          await acting.close()
          await reading.close()
        },
      }
    },
  }
}

const sound = readingBy('gated resources', guardWay)

/** Of what is read beside actions. */
export const RESOURCE_SABOTAGES: readonly Sabotage[] = [
  {
    what: 'asks about actions alone, and gives resources to everybody',
    broken: readingBy('open resources', async ({ act, call }) => (await act(givenOf(call))).value),
    sound,
    caughtBy: CAUGHT_BY,
  },
  {
    what: 'rejects a read that succeeded',
    broken: readingBy(
      'rejected reads',
      withOptions({ settleOn: ({ kind }) => (kind === 'succeeded' ? { settle: 'reject' } : undefined) }),
    ),
    sound,
    caughtBy: CAUGHT_BY,
  },
]
