import type { Conditions } from '@countersign/contract'
import { type ConditionTest, compileTest, holds, operatorsOf } from './condition-test.js'
import type { PathParser } from './path.js'
import type { EngineRequest, Facts } from './request.js'
import { FALSE, not, TRUE, type Truth, UNKNOWN } from './truth.js'

/**
 * One step of compiled conditions. `open` sets the register of a group, `test` asks one operator, `close` ends a group.
 * A test and a closed group fold their value into the group around them; the value that settles that group jumps to its end.
 */
export interface Step {
  readonly kind: 'open' | 'test' | 'close'
  /** The register of the group that this step belongs to; for `open` and `close` the group around the one they delimit. */
  readonly level: number
  /** The value that settles the group of this step: false in an and, true in an or. */
  readonly settling: Truth
  /** Where to go when the group of this step is settled: its `close`, or the end of the program. */
  exit: number
  /** `open`: the value of the opened group while nothing speaks against it. */
  readonly initial: Truth
  /** `close`: whether the group is a `$not`. */
  readonly negated: boolean
  /** `open`: where the `close` of the opened group stands. */
  end: number
  readonly test: ConditionTest | null
}

/** Conditions as one flat list, run by one loop with jumps. */
export type Program = readonly Step[]

/** Groups lie at most some twenty deep; one register each, set before it is read in every run. */
const registers: Truth[] = []

/** Compiles validated conditions; no conditions make an empty program, which is true. */
export function compileConditions(conditions: Conditions | undefined, parsePath: PathParser): Program {
  const build: Build = { steps: [], parsePath }
  if (conditions !== undefined) addMembers(build, conditions, { level: 0, settling: FALSE })
  closeGroup(build.steps, 0, 0)
  return build.steps
}

/**
 * Runs a program. With a `trace` no jump is taken and the value of each test and group is written into it, at the index
 * of the test or of the group's `close`; the result is the same.
 */
export function runProgram(
  program: Program,
  request: EngineRequest,
  facts: Facts,
  trace: Truth[] | null = null,
): Truth {
  registers[0] = TRUE
  let at = 0
  while (at < program.length) {
    const step = program[at] as Step
    if (step.kind === 'open') {
      registers[step.level + 1] = step.initial
      at += 1
      continue
    }
    const value = step.kind === 'test' ? holds(step.test as ConditionTest, request, facts) : closedValue(step)
    if (trace !== null) trace[at] = value
    if (value === step.settling) {
      registers[step.level] = value
      at = trace === null ? step.exit : at + 1
      continue
    }
    if (value === UNKNOWN && registers[step.level] !== step.settling) registers[step.level] = UNKNOWN
    at += 1
  }
  return registers[0]
}

function closedValue(step: Step): Truth {
  const value = registers[step.level + 1] as Truth
  return step.negated ? not(value) : value
}

interface Build {
  readonly steps: Step[]
  readonly parsePath: PathParser
}

interface Group {
  readonly level: number
  readonly settling: Truth
}

function addMembers(build: Build, conditions: Conditions, group: Group): void {
  for (const [key, member] of Object.entries(conditions)) {
    if (key === '$not') addGroup(build, group, FALSE, true, (inner) => addMembers(build, member as Conditions, inner))
    else if (key === '$and') for (const item of member as Conditions[]) addMembers(build, item, group)
    else if (key === '$or')
      addGroup(build, group, TRUE, false, (inner) => addAlternatives(build, member as Conditions[], inner))
    else
      for (const [operator, operand] of operatorsOf(member))
        addTest(build, group, compileTest(key, operator, operand, build.parsePath))
  }
}

function addAlternatives(build: Build, alternatives: readonly Conditions[], group: Group): void {
  for (const alternative of alternatives) {
    addGroup(build, group, FALSE, false, (inner) => addMembers(build, alternative, inner))
  }
}

function addTest({ steps }: Build, group: Group, test: ConditionTest): void {
  steps.push(makeStep('test', group, TRUE, false, test))
}

function addGroup(
  { steps }: Build,
  around: Group,
  settling: Truth,
  negated: boolean,
  add: (inner: Group) => void,
): void {
  const start = steps.length
  const open = makeStep('open', around, not(settling), negated, null)
  steps.push(open)
  add({ level: around.level + 1, settling })
  closeGroup(steps, start + 1, around.level + 1)
  open.end = steps.length
  steps.push(makeStep('close', around, TRUE, negated, null))
}

/** One literal for all steps, without a spread: the loop is several times faster when they have one hidden class. */
function makeStep(
  kind: Step['kind'],
  { level, settling }: Group,
  initial: Truth,
  negated: boolean,
  test: ConditionTest | null,
): Step {
  return { kind, level, settling, exit: -1, initial, negated, end: -1, test }
}

/** Lets every step of the group that began at `start` leave to the place where the group ends. */
function closeGroup(steps: readonly Step[], start: number, level: number): void {
  for (let at = start; at < steps.length; at += 1) {
    const step = steps[at] as Step
    if (step.level === level) step.exit = steps.length
  }
}
