/**
 * What every store adapter has to pass, and what its own tests can build on. An adapter's test file is
 * `storeSuite('the store on …', open)`, run by vitest.
 */
export {
  accountOf,
  agentOf,
  createOf,
  DAY,
  type Draft,
  decisionOf,
  deliveryOf,
  eraseOf,
  heldIn,
  idempotencyOf,
  idOf,
  instant,
  keyOf,
  LogPen,
  policyOf,
  releasedIn,
  requestOf,
  reviewOf,
  spentIn,
  updateOf,
  webhookOf,
  writeAgentOf,
  writeKeyOf,
  writePolicyOf,
  writeWebhookOf,
} from './documents.js'
export { type Altered, altered } from './sabotage.js'
export { expectCaught, sabotageSuite } from './sabotages.js'
export { type OpenedSharedStore, SHARED_STORE_CASES, sharedStoreSuite } from './shared.js'
export { type CallOf, type OpenedStore, WHOLE, walk } from './store-case.js'
export { storeSuite } from './suite.js'
