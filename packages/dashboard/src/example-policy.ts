/** The first policy of a new server. Every snippet on the page makes a request that it decides. */
export const EXAMPLE_POLICY = {
  name: 'Refunds by support agents',
  description: 'Up to 100 is allowed, up to 1000 needs a person, more is denied.',
  agents: ['agent:support-*'],
  rules: [
    { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $gt: 0, $lte: 100 } } },
    {
      action: 'payment.refund',
      effect: 'review',
      conditions: { 'context.amount': { $gt: 0, $lte: 1000 } },
      reason: 'Refunds over 100 need a person.',
    },
    { action: 'payment.refund', effect: 'deny' },
  ],
} as const
