import type { ConditionTest } from './condition-test.js'
import type { Instruction, Program } from './program.js'
import { FALSE, not, TRUE, type Truth, UNKNOWN } from './truth.js'

/** A test whose value mattered to the conditions. */
export interface TracedTest {
  readonly test: ConditionTest
  /** Whether it is under an odd number of `$not`. */
  readonly isNegated: boolean
  readonly truth: Truth
}

/** Whether to collect a part with this value, where `wanted` is the value that lets the conditions hold. */
type Choice = (truth: Truth, wanted: Truth) => boolean

/**
 * Returns the tests that would have to change (for an `$or`: one of them) for the conditions to hold; needs a whole
 * trace.
 */
export function unmetTests(program: Program, trace: readonly Truth[]): TracedTest[] {
  return tracedTests(program, trace, (truth, wanted) => truth !== wanted)
}

/** Returns the tests by which true conditions hold (for an `$or`: all that are true); needs a whole trace. */
export function heldTests(program: Program, trace: readonly Truth[]): TracedTest[] {
  return tracedTests(program, trace, (truth, wanted) => truth === wanted)
}

/** Returns the tests that made conditions unknown. */
export function unknownTests(program: Program, trace: readonly Truth[]): TracedTest[] {
  return tracedTests(program, trace, (truth) => truth === UNKNOWN)
}

/** `trace` has the values that `runProgram` wrote; unknown tests are among those that it had to read. */
function tracedTests(program: Program, trace: readonly Truth[], isChosen: Choice): TracedTest[] {
  const found: TracedTest[] = []
  collect({ program, trace, isChosen, found }, 0, program.length, TRUE)
  return found
}

interface Search {
  readonly program: Program
  readonly trace: readonly Truth[]
  readonly isChosen: Choice
  readonly found: TracedTest[]
}

/** Visits the members of the group between two indexes; `wanted` is FALSE under a `$not`. */
function collect(search: Search, from: number, to: number, wanted: Truth): void {
  for (let at = from; at < to; at += 1) {
    const { kind, test, end } = search.program[at] as Instruction
    const last = kind === 'open' ? end : at
    const truth = search.trace[last] as Truth
    if (search.isChosen(truth, wanted)) {
      if (test !== null) search.found.push({ test, isNegated: wanted === FALSE, truth })
      else collect(search, at + 1, last, (search.program[last] as Instruction).negated ? not(wanted) : wanted)
    }
    at = last
  }
}
