export { freePort } from './free-port.js'
export { outerImports } from './outer-imports.js'
export { SEED, seededRandom } from './seeded-random.js'
export { drawsOf, stress } from './stress.js'
export {
  answerCutOff,
  answerDecision,
  answerHuge,
  answerJson,
  answerNever,
  answerNothing,
  answerProblem,
  answerReset,
  answerText,
  decisionAbout,
} from './stub-answers.js'
export {
  type ReceivedRequest,
  type StubAnswer,
  type StubDecisionPoint,
  startStubDecisionPoint,
} from './stub-decision-point.js'
export { type StubEventStream, startStubEventStream } from './stub-event-stream.js'
export { type StubLifecycle, startStubLifecycle } from './stub-lifecycle.js'
export { until } from './until.js'
