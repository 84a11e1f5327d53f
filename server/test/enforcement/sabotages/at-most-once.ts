import type { Sabotage } from '@countersign/testkit/enforcement-suite'
import { inSpiteOf, sabotagesBy, withOptions } from './breaking.js'

/** Of what is to run at most once. */
export const AT_MOST_ONCE_SABOTAGES: readonly Sabotage[] = sabotagesBy([
  {
    what: 'runs at least once what is to run at most once',
    way: withOptions({ runs: 'at-least-once' }),
    caughtBy: ['redeems the permit of what is to run at most once'],
  },
  {
    what: 'runs what was redeemed before',
    way: inSpiteOf(({ reason }) => reason === 'permit_already_used'),
    caughtBy: ['does not run at most once what somebody else has redeemed'],
  },
  {
    what: 'runs what it cannot redeem',
    way: inSpiteOf(({ reason }) => ['unavailable', 'refused', 'agent_suspended'].includes(reason)),
    caughtBy: [
      'does not run at most once what was redeemed for an answer that is lost',
      ...[
        'the decision point breaks off',
        'the decision point answers a page',
        'the decision point answers no decision',
        'the decision point is not able to',
        'the key lacks the scope',
        'the agent was suspended meanwhile',
      ].map((what) => `does not run at most once what cannot be redeemed, where ${what}`),
    ],
  },
])
