/** The text that a model reads about an action that did not run. */
import type { Advice } from '../wire.js'
import type { DeniedError } from './denied-error.js'
import { printable } from './printable.js'
import { sentencesForModel } from './refusal-sentences.js'
import { reviewerWords } from './reviewer-words.js'

/** The most characters of foreign text; everything else is a few sentences. */
const MAX_WORDS = 400
const MAX_ID = 64
const TIMESTAMP = /^\d{4}-\d\d-\d\dT[\d:.]{1,20}Z$/

const UNCHANGED = 'Do not repeat it unchanged.'
/** When the model may make the same call again. Null: the message of the advice already says so. */
const AGAIN: Readonly<Record<Advice['retry'], string | null>> = {
  never: null,
  changed: UNCHANGED,
  after: 'Do not repeat it unchanged before then.',
  after_approval: 'After the approval, make the same call again.',
  now: 'Make the same call again.',
}

/** Refusals of an action that was begun before, here or elsewhere. */
const RAN_BEFORE: readonly string[] = ['settled', 'already_claimed', 'permit_already_used']

/**
 * Writes a refusal as text for a model, such as the answer of a tool that was called: whether anything ran, why, what
 * the model may do now, whether it may make the same call again, what a reviewer wrote, the reason and the id of the
 * decision. Works for refusals of the decision point and of this machine.
 *
 * The text is one line of at most 1,000 characters. It contains no permit, policy, cause or stack, and only printable
 * characters of foreign text.
 *
 * Source: docs/enforcement.md "Refusals".
 */
export function refusalForModel(error: DeniedError): string {
  const { reason, decision_id, retryAfterSeconds } = error
  const words = reviewerWords(error.comment)
  const about = decision_id === null ? '' : `, decision ${bounded(decision_id, MAX_ID)}`
  const sentences = [
    RAN_BEFORE.includes(reason) ? 'The call does not run again; it may have run before.' : 'The call did not run.',
    ...(error.advice === null ? wordsOf(error) : wordsOfAdvice(error.advice)),
    ...(words === null ? [] : [words]),
    ...(isAmount(retryAfterSeconds) ? [`Wait at least ${Math.ceil(retryAfterSeconds)} s.`] : []),
  ]
  return `${sentences.join(' ')} (${bounded(reason, MAX_ID)}${about})`
}

function wordsOf({ reason, detail }: DeniedError): string[] {
  const { happened, next } = sentencesForModel(reason)
  // The detail is a complete sentence that names the fault for the caller.
  return [detail === null ? happened : bounded(detail, MAX_WORDS), next]
}

function wordsOfAdvice({ retry, message, max_amount, after }: Advice): string[] {
  const words = bounded(message, MAX_WORDS)
  const isTime = typeof after === 'string' && TIMESTAMP.test(after)
  // If a smaller amount may run, the messages of the decision point do not say what not to repeat.
  const again =
    retry === 'never' && isAmount(max_amount) ? UNCHANGED : Object.hasOwn(AGAIN, retry) ? AGAIN[retry] : UNCHANGED
  return [
    words,
    // The decision point's own messages already say both.
    ...(isAmount(max_amount) && !words.includes(String(max_amount)) ? [`At most ${max_amount} is possible now.`] : []),
    ...(isTime && !words.includes(after.slice(0, 10)) ? [`Ask again after ${after}.`] : []),
    ...(again === null ? [] : [again]),
  ]
}

/** Cuts again, because escaping unprintable characters makes the text longer. */
function bounded(text: string, maxLength: number): string {
  const shown = printable(String(text), maxLength)
  return shown.length > maxLength ? `${shown.slice(0, maxLength)}…` : shown
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
