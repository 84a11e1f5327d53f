import type { Conditions } from '@countersign/contract'
import { type ConditionTest, compileTest, holds, operatorsOf } from './condition-test.js'
import type { PathParser } from './path.js'
import type { EngineRequest, Facts } from './request.js'
import type { Steps } from './steps.js'
import { FALSE, not, TRUE, type Truth, UNKNOWN } from './truth.js'

/**
 * One instruction of compiled conditions. `open` sets the register of a group, `test` runs one operator, `close` ends a
 * group. A test and a closed group combine their value with the group around them; a value that settles that group
 * jumps to its end.
 */
export interface Instruction {
  readonly kind: 'open' | 'test' | 'close'
  /** The register of the group that contains this instruction; for `open` and `close`, of the group around theirs. */
  readonly level: number
  /** The value that settles the group of this instruction: false in an and, true in an or. */
  readonly settling: Truth
  /** The jump target when the group of this instruction is settled: its `close`, or the end of the program. */
  exit: number
  /** `open`: the initial value of the opened group. */
  readonly initial: Truth
  /** `close`: whether the group is a `$not`. */
  readonly negated: boolean
  /** `open`: the index of the `close` of the opened group. */
  end: number
  readonly test: ConditionTest | null
  /** How many conditions and operators are first read here. */
  readonly cost: number
}

/** Conditions as one flat list, run by one loop with jumps. */
export type Program = readonly Instruction[]

/** Groups nest about twenty deep at most; each level has one register, which every run sets before it reads it. */
const registers: Truth[] = []

/** Compiles validated conditions; without conditions the program is empty and true. */
export function compileConditions(conditions: Conditions | undefined, parsePath: PathParser): Program {
  const build: Build = { program: [], parsePath, pending: 0 }
  if (conditions !== undefined) addMembers(build, conditions, { level: 0, settling: FALSE })
  closeGroup(build.program, 0, 0)
  return build.program
}

/** The record of a run: the value of each test and group that it reads. */
export interface Trace {
  /** Indexed by the test, or by the group's `close`. */
  readonly values: Truth[]
  /** Whether to run everything, also after the result is settled. */
  readonly isWhole: boolean
}

/**
 * Runs a program; a trace does not change the result. Once it has taken more steps than are left, it ends early with a
 * meaningless value.
 */
export function runProgram(
  program: Program,
  request: EngineRequest,
  facts: Facts,
  steps: Steps,
  trace: Trace | null = null,
): Truth {
  registers[0] = TRUE
  let at = 0
  while (at < program.length) {
    const instruction = program[at] as Instruction
    steps.take(instruction.cost)
    if (steps.isOver) return UNKNOWN
    if (instruction.kind === 'open') {
      registers[instruction.level + 1] = instruction.initial
      at += 1
      continue
    }
    const value =
      instruction.kind === 'test'
        ? holds(instruction.test as ConditionTest, request, facts, steps)
        : closedValue(instruction)
    if (trace !== null) trace.values[at] = value
    if (value === instruction.settling) {
      registers[instruction.level] = value
      at = trace?.isWhole ? at + 1 : instruction.exit
      continue
    }
    if (value === UNKNOWN && registers[instruction.level] !== instruction.settling)
      registers[instruction.level] = UNKNOWN
    at += 1
  }
  return registers[0]
}

function closedValue(instruction: Instruction): Truth {
  const value = registers[instruction.level + 1] as Truth
  return instruction.negated ? not(value) : value
}

interface Build {
  readonly program: Instruction[]
  readonly parsePath: PathParser
  /** How many conditions the next instruction is the first to read. */
  pending: number
}

interface Group {
  readonly level: number
  readonly settling: Truth
}

function addMembers(build: Build, conditions: Conditions, group: Group): void {
  for (const [key, member] of Object.entries(conditions)) {
    build.pending += 1
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

function addTest(build: Build, group: Group, test: ConditionTest): void {
  build.pending += 1
  build.program.push(newInstruction('test', group, TRUE, false, test, takePending(build)))
}

function addGroup(build: Build, around: Group, settling: Truth, negated: boolean, add: (inner: Group) => void): void {
  const { program } = build
  const start = program.length
  const open = newInstruction('open', around, not(settling), negated, null, takePending(build))
  program.push(open)
  add({ level: around.level + 1, settling })
  closeGroup(program, start + 1, around.level + 1)
  open.end = program.length
  program.push(newInstruction('close', around, TRUE, negated, null, 0))
}

function takePending(build: Build): number {
  const { pending } = build
  build.pending = 0
  return pending
}

/**
 * One literal for all instructions, without a spread: the loop is several times faster when they share one hidden
 * class.
 */
function newInstruction(
  kind: Instruction['kind'],
  { level, settling }: Group,
  initial: Truth,
  negated: boolean,
  test: ConditionTest | null,
  cost: number,
): Instruction {
  return { kind, level, settling, exit: -1, initial, negated, end: -1, test, cost }
}

/** Sets the exit of every instruction of the group that began at `start` to the place where the group ends. */
function closeGroup(program: readonly Instruction[], start: number, level: number): void {
  for (let at = start; at < program.length; at += 1) {
    const instruction = program[at] as Instruction
    if (instruction.level === level) instruction.exit = program.length
  }
}
