import { isRecord } from './answer.js'
import { UnavailableError } from './errors/unavailable-error.js'

/**
 * The answer with its secret. A replayed answer is without it: the first answer had it, and the network lost that.
 *
 * @throws UnavailableError that says what to do
 */
export function withSecret<Shown>(call: string, answer: unknown, member: 'key' | 'secret'): Shown {
  if (isRecord(answer) && typeof answer[member] === 'string') return answer as Shown
  const id = isRecord(answer) ? String(answer.id) : 'it'
  throw new UnavailableError(
    'bad_answer',
    `${call}: it was done by an earlier attempt whose answer is lost, and the secret is shown once: rotate ${id}, with another idempotency key`,
  )
}
