import { isScalar, LIMITS } from '@countersign/contract'
import type { CompiledRule } from '../compiled-policy.js'
import { type ConditionTest, compareSides, sizeRead } from '../condition-test.js'
import type { Instruction, Program } from '../program.js'
import { stepsToRead } from '../steps.js'
import { FALSE, TRUE, UNKNOWN } from '../truth.js'
import { type CommonFacts, longestValue, type PossibleValues, possibleValues } from './possible-values.js'
import { ANY_TRUTH, andOf, notOf, orOf, setOf, type TruthSet } from './truth-set.js'

/**
 * The possible results of a rule, or of one of its tests, in requests of one agent for one action: over every resource,
 * context and time.
 */
export interface PossibleTruths {
  /** Includes every possible truth. Each test is judged alone, as if the other tests did not read the same values. */
  readonly truths: TruthSet
  /** The most steps that an evaluation of it takes. */
  readonly mostSteps: number
  /**
   * The steps that the search took. If they exceed the available steps, the search was given up and the other members
   * mean nothing.
   */
  readonly steps: number
  /** Whether the result may differ for another action. */
  readonly readsAction: boolean
}

/** Results for slow tests that hold for every action. */
export type KnownTests = Map<ConditionTest, PossibleTruths>

/** Looking up cheaper results would take as long as computing them. */
const KNOWN_FROM_STEPS = 16

type Tally = { -readonly [Member in keyof PossibleTruths]: PossibleTruths[Member] }

/** Returns the possible results of a rule whose action matches. */
export function possibleTruths(
  { resource, program }: CompiledRule,
  facts: CommonFacts,
  known: KnownTests,
  maxSteps: number,
): PossibleTruths {
  const tally: Tally = { truths: setOf(TRUE), mostSteps: 1, steps: 1, readsAction: false }
  if (resource !== null) {
    tally.truths = ANY_TRUTH
    tally.mostSteps += stepsToRead(LIMITS.resourceLength + resource.source.length)
  }
  const find = (test: ConditionTest): TruthSet => {
    const found = known.get(test) ?? truthsOfTest(test, facts)
    if (found.steps >= KNOWN_FROM_STEPS && !found.readsAction) known.set(test, found)
    tally.mostSteps += found.mostSteps
    tally.steps += found.steps
    tally.readsAction ||= found.readsAction
    return found.truths
  }
  tally.truths = andOf(tally.truths, conditionTruths(program, find, tally, maxSteps))
  return tally
}

/** Runs conditions like an evaluation, on all values at once: it stops early only when every request is settled. */
function conditionTruths(
  program: Program,
  find: (test: ConditionTest) => TruthSet,
  tally: Tally,
  maxSteps: number,
): TruthSet {
  const registers: TruthSet[] = [setOf(TRUE)]
  let at = 0
  while (at < program.length && tally.steps <= maxSteps) {
    const { kind, level, settling, exit, initial, negated, test, cost } = program[at] as Instruction
    at += 1
    tally.steps += 1
    tally.mostSteps += cost
    if (kind === 'open') {
      registers[level + 1] = setOf(initial)
      continue
    }
    const inner = kind === 'test' ? find(test as ConditionTest) : (registers[level + 1] as TruthSet)
    const fold = settling === FALSE ? andOf : orOf
    registers[level] = fold(registers[level] as TruthSet, negated ? notOf(inner) : inner)
    if (registers[level] === setOf(settling)) at = exit
  }
  return registers[0] as TruthSet
}

function truthsOfTest(test: ConditionTest, facts: CommonFacts): PossibleTruths {
  const { path, ref, written, operator } = test
  const values = possibleValues(path, facts)
  const operands = ref === null ? [written] : possibleValues(ref, facts)
  let [longest, steps] = [0, 0]
  let found: TruthSet = 0
  for (const value of values ?? [longestValue(path, operator === '$contains')]) {
    for (const operand of operands ?? [longestValue(ref ?? path, false)]) {
      const size = sizeRead(test, value, operand)
      longest = Math.max(longest, size)
      if (values === null || operands === null) continue
      steps += 1 + stepsToRead(size)
      found |= setOf(compareSides(test, value, operand))
    }
  }
  return {
    truths: found === 0 ? openTruths(test, values ?? operands) : found,
    mostSteps: stepsToRead(longest),
    steps,
    readsAction: path.root === 'action' || ref?.root === 'action',
  }
}

/** Judges a test whose one or both sides the caller chooses; `known` are the possible values of the other side. */
function openTruths({ operator }: ConditionTest, known: PossibleValues): TruthSet {
  switch (operator) {
    case '$like':
    case '$cidr':
      return ANY_TRUTH
    case '$in':
    case '$nin':
      return known?.some(Array.isArray) === false ? setOf(UNKNOWN) : ANY_TRUTH
    default:
      return known?.some(isScalar) === false ? setOf(UNKNOWN) : ANY_TRUTH
  }
}
