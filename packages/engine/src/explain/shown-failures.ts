import type { FailedCondition, Json } from '@countersign/contract'
import { shortenText, shortenValue } from '../shorten.js'
import { describeFailure, type View } from './failure.js'
import type { RuleJudgement } from './judgement.js'

/** Of one rule. */
const SHOWN_CONDITIONS = 20
/** Of one explanation: characters of JSON. Every policy and rule is listed, whatever is left out of their `failed`. */
const SHOWN_CHARACTERS = 1_000_000

interface Shown {
  readonly failed: FailedCondition[]
  readonly failed_omitted?: number
}

/** Describes what kept rules from matching until there is no more room; who is described first is sure to be shown. */
export class ShownFailures {
  private room = SHOWN_CHARACTERS
  private readonly shown = new Map<RuleJudgement, Shown>()
  /** Many conditions look at one value. */
  private readonly shortened = new Map<object, Json>()

  constructor(private readonly view: View) {}

  of(judgement: RuleJudgement): Shown {
    const shown = this.shown.get(judgement) ?? this.describe(judgement)
    this.shown.set(judgement, shown)
    return shown
  }

  private describe({ rule, failures }: RuleJudgement): Shown {
    const failed: FailedCondition[] = []
    for (const failure of failures.slice(0, SHOWN_CONDITIONS)) {
      if (this.room <= 0) break
      const condition = this.shorten(describeFailure(failure, rule, this.view))
      this.room -= JSON.stringify(condition).length
      failed.push(condition)
    }
    const omitted = failures.length - failed.length
    return omitted > 0 ? { failed, failed_omitted: omitted } : { failed }
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
