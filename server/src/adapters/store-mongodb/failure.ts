import { MongoServerError, MongoServerSelectionError } from 'mongodb'
import { addressOf } from './url.js'

/** A sentence for people: which MongoDB it is, and why it cannot be used. */
export function mongoFailure(url: string, error: unknown): string {
  return `MongoDB at ${addressOf(url)}: ${failureOf(error)}.`
}

/** By the codes of MongoDB. */
const KNOWN: Readonly<Record<number, string>> = {
  13: 'the user has not the rights that it needs (readWrite on the database)',
  18: 'it refuses the user or the password',
}

/** An index of the same name or members is there, with other options. */
const INDEX_CONFLICTS: readonly unknown[] = [85, 86]

/** By the innermost cause that tells it. Holds nothing of the URL but its hosts. */
function failureOf(error: unknown): string {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) causes.unshift(cause)
  for (const cause of causes) {
    if (cause instanceof MongoServerSelectionError) return `it does not answer (${cause.message})`
    if (!(cause instanceof MongoServerError)) continue
    const { code, codeName } = cause
    const known = KNOWN[Number(code)]
    if (known !== undefined) return known
    if (INDEX_CONFLICTS.includes(code)) return `an index that is there is not as it has to be (${cause.message})`
    return `it refuses a command (${codeName ?? code})`
  }
  const [innermost] = causes
  return `it cannot be used (${innermost?.name ?? 'unknown'})`
}
