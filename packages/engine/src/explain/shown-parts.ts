import type { FailedCondition, Json, RuleExplanation } from '@countersign/contract'
import type { CompiledRule } from '../compiled-policy.js'
import { shortenText, shortenValue } from '../shorten.js'
import type { RuleJudgement } from './judgement.js'
import { describePart, type RulePart, type View } from './rule-part.js'

/** Limit of one rule. */
const SHOWN_PARTS = 20
/** Limit of one explanation: characters of JSON. Every policy and rule is listed, whatever is left out of it. */
const SHOWN_CHARACTERS = 1_000_000

type Shown = Pick<RuleExplanation, 'failed' | 'failed_omitted' | 'held' | 'held_omitted'>

/**
 * Describes the parts by which rules failed or matched, until the room is used up; the first ones are sure to be shown.
 */
export class ShownParts {
  private room = SHOWN_CHARACTERS
  private readonly shown = new Map<RuleJudgement, Shown>()
  /** Many conditions read the same value. */
  private readonly shortened = new Map<object, Json>()

  constructor(private readonly view: View) {}

  of(judgement: RuleJudgement): Shown {
    const shown = this.shown.get(judgement) ?? this.describe(judgement)
    this.shown.set(judgement, shown)
    return shown
  }

  private describe({ rule, failures, held: matchedBy }: RuleJudgement): Shown {
    const failed = this.describeParts(failures, rule)
    const failed_omitted = failures.length - failed.length
    const shown = failed_omitted > 0 ? { failed, failed_omitted } : { failed }
    if (matchedBy === undefined) return shown
    const held = this.describeParts(matchedBy, rule)
    const held_omitted = matchedBy.length - held.length
    return held_omitted > 0 ? { ...shown, held, held_omitted } : { ...shown, held }
  }

  private describeParts(parts: readonly RulePart[], rule: CompiledRule): FailedCondition[] {
    const described: FailedCondition[] = []
    for (const part of parts.slice(0, SHOWN_PARTS)) {
      if (this.room <= 0) break
      const condition = this.shorten(describePart(part, rule, this.view))
      this.room -= JSON.stringify(condition).length
      described.push(condition)
    }
    return described
  }

  private shorten(condition: FailedCondition): FailedCondition {
    return {
      ...condition,
      path: shortenText(condition.path),
      expected: this.shortenOnce(condition.expected),
      actual: this.shortenOnce(condition.actual),
    }
  }

  private shortenOnce(value: Json): Json {
    if (typeof value !== 'object' || value === null) return shortenValue(value)
    const short = this.shortened.get(value) ?? shortenValue(value)
    this.shortened.set(value, short)
    return short
  }
}
