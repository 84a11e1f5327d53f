import { isRecord } from './answer.js'
import { UnavailableError } from './errors/unavailable-error.js'

/**
 * Returns the answer with its secret. A replayed answer lacks it: only the first answer had it, and that was lost.
 *
 * @throws UnavailableError that says what to do
 */
export function withSecret<Shown>(call: string, answer: unknown, member: 'key' | 'secret'): Shown {
  if (isRecord(answer) && typeof answer[member] === 'string') return answer as Shown
  const id = isRecord(answer) ? String(answer.id) : 'it'
  throw new UnavailableError(
    'bad_answer',
    `${call}: an earlier attempt succeeded, but its answer was lost, and the secret is shown only once: rotate ${id}, with another idempotency key`,
  )
}
