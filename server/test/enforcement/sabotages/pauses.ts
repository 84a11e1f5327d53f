import { ownSettlementAdapter, ownSettlements, ownSettlementWay } from '../own-settlements.js'
import type { PlainWay } from '../plain-functions.js'
import { sabotagesBy } from './breaking.js'

const PAUSES = ['runs what pauses itself twice to its end once']

const neverPausing: PlainWay = ({ act, ...calling }) => ownSettlementWay({ ...calling, act: (given) => act(given) })

/** Goes on after the action has run to its end. */
const runningTwice: PlainWay = ({ act, ...calling }) =>
  ownSettlementWay({
    ...calling,
    async act(given, pause) {
      await act(given, pause)
      return act(given)
    },
  })

/** Of actions that interrupt themselves. */
export const PAUSE_SABOTAGES = sabotagesBy(
  [
    {
      what: 'rejects what has paused',
      way: ownSettlements({ onPause: ({ settle }) => settle.reject('it was interrupted') }),
      caughtBy: PAUSES,
    },
    {
      what: 'confirms what has paused',
      way: ownSettlements({ onPause: ({ settle }) => settle.confirm() }),
      caughtBy: PAUSES,
    },
    {
      what: 'runs what is resumed on a second decision',
      way: ownSettlements({ keyOf: () => crypto.randomUUID() }),
      caughtBy: PAUSES,
    },
    {
      what: 'runs to its end what wants to pause',
      way: neverPausing,
      caughtBy: PAUSES,
    },
    { what: 'runs to its end twice what has paused', way: runningTwice, caughtBy: PAUSES },
  ].map((one) => ({ ...one, sound: ownSettlementAdapter })),
)
