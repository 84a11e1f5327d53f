/**
 * What every integration has to pass, and what it can build on. Its test file is `enforcementSuite(adapter, () => point)`,
 * run by vitest against a real decision point.
 */
export type {
  Act,
  CallOutcome,
  Done,
  EnforcementAdapter,
  Given,
  GuardedCall,
  GuardSetup,
  OpenedGuard,
} from './adapter.js'
export { Operator, type RealDecisionPoint } from './operator.js'
export { startDecisionPoint, useDecisionPoint } from './real-decision-point.js'
export { type Relay, startRelay } from './relay.js'
export { caseOf, expectCaught, type Sabotage, sabotageSuite } from './sabotages.js'
export { enforcementSuite } from './suite.js'
