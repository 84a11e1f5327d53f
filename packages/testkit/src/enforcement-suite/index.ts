/**
 * What every integration has to pass, and what it can build on. Its test file is `enforcementSuite(adapter, () => point)`,
 * run by vitest against a real decision point.
 */
export {
  type Act,
  type CallOutcome,
  type Done,
  type EnforcementAdapter,
  type Given,
  type GuardedCall,
  type GuardSetup,
  type OpenedGuard,
  saysFailure,
} from './adapter.js'
export { Operator, type RealDecisionPoint } from './operator.js'
export { startDecisionPoint, useDecisionPoint } from './real-decision-point.js'
export { type Relay, startRelay } from './relay.js'
export { caseOf, expectCaught, type Sabotage, sabotageSuite } from './sabotages.js'
export { enforcementSuite } from './suite.js'
export { EFFECTS, ToolRig } from './tool-rig.js'
