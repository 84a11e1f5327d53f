import type { ConditionTest } from './condition-test.js'
import type { Instruction, Program } from './program.js'
import { FALSE, not, TRUE, type Truth, UNKNOWN } from './truth.js'

/** A test that kept conditions from being true. */
export interface BlamedTest {
  readonly test: ConditionTest
  /** Whether it stands under an odd number of `$not`. */
  readonly isNegated: boolean
  readonly truth: Truth
}

/** Whether a part with this value is to blame, where `wanted` would have been right. */
type Blame = (truth: Truth, wanted: Truth) => boolean

/** The tests that would have to come out otherwise (of an `$or`: one of them) for the conditions to hold; the trace is whole. */
export function unmetTests(program: Program, trace: readonly Truth[]): BlamedTest[] {
  return blamedTests(program, trace, (truth, wanted) => truth !== wanted)
}

/** The tests through which conditions that are neither true nor false came out unknown. */
export function unknownTests(program: Program, trace: readonly Truth[]): BlamedTest[] {
  return blamedTests(program, trace, (truth) => truth === UNKNOWN)
}

/** `trace` are the values that `runProgram` has written; unknown is found in what it had to look at. */
function blamedTests(program: Program, trace: readonly Truth[], blame: Blame): BlamedTest[] {
  const found: BlamedTest[] = []
  collect({ program, trace, blame, found }, 0, program.length, TRUE)
  return found
}

interface Search {
  readonly program: Program
  readonly trace: readonly Truth[]
  readonly blame: Blame
  readonly found: BlamedTest[]
}

/** Goes through the members of the group that lies between two steps; `wanted` is FALSE under a `$not`. */
function collect(search: Search, from: number, to: number, wanted: Truth): void {
  for (let at = from; at < to; at += 1) {
    const { kind, test, end } = search.program[at] as Instruction
    const last = kind === 'open' ? end : at
    const truth = search.trace[last] as Truth
    if (search.blame(truth, wanted)) {
      if (test !== null) search.found.push({ test, isNegated: wanted === FALSE, truth })
      else collect(search, at + 1, last, (search.program[last] as Instruction).negated ? not(wanted) : wanted)
    }
    at = last
  }
}
