import {
  MongoCompatibilityError,
  MongoMissingCredentialsError,
  MongoMissingDependencyError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoOperationTimeoutError,
  MongoParseError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb'
import { addressOf } from './url.js'

/** Writes a sentence for people: which MongoDB it is, and why it cannot be used. */
export function mongoFailure(url: string, error: unknown): string {
  return `MongoDB at ${addressOf(url)}: ${failureOf(error)}.`
}

/** Whether MongoDB did not answer in time without any other reason. It may answer later. */
export function isLate(error: unknown): boolean {
  if (error instanceof MongoServerSelectionError) {
    const servers = [...(error.reason?.servers.values() ?? [])]
    return servers.every((server) => server.error === null || isLate(server.error))
  }
  if (error instanceof MongoNetworkTimeoutError || error instanceof MongoOperationTimeoutError) return true
  return error instanceof Error && isLate(error.cause)
}

/** By MongoDB error code. */
const KNOWN: Readonly<Record<number, string>> = {
  13: 'the user lacks the role readWrite on the database',
  18: 'it rejected the user or the password',
}

/** An index with the same name or members exists with other options. */
const INDEX_CONFLICTS: readonly unknown[] = [85, 86]

/** Errors of the driver, the more specific ones first. */
const KINDS: readonly (readonly [kind: abstract new (...args: never[]) => Error, text: string])[] = [
  [MongoNetworkTimeoutError, 'it did not answer in time'],
  [MongoOperationTimeoutError, 'it did not answer in time'],
  [MongoNetworkError, 'the connection broke; check the network and the log of MongoDB'],
  [MongoCompatibilityError, 'this release does not support its version; use a version that the documentation names'],
  [MongoMissingCredentialsError, 'it requires a user and a password; add them to MONGODB_URL'],
  [MongoMissingDependencyError, 'an option of MONGODB_URL needs a package that is not installed; remove the option'],
  [MongoParseError, 'the hosts or options in MONGODB_URL exclude each other; check them'],
]

type Explain = (cause: Error) => string | null

/** Returns MongoDB's own message, or that no server was found. */
function answerOf(cause: Error): string | null {
  if (cause instanceof MongoServerSelectionError) return `it did not answer (${cause.message})`
  if (!(cause instanceof MongoServerError)) return null
  const { code, codeName } = cause
  const known = KNOWN[Number(code)]
  if (known !== undefined) return known
  if (INDEX_CONFLICTS.includes(code)) return `an existing index differs from the required one (${cause.message})`
  return `it rejected a command (${codeName ?? code})`
}

/** Returns why the system could not reach MongoDB. Of the error, only its code is named. */
function systemFailureOf(cause: Error): string | null {
  const { syscall } = cause as NodeJS.ErrnoException
  const code = codeOf(cause)
  if (code === null) return null
  if (syscall?.startsWith('query')) return `DNS did not find its hosts (${code}); check the hosts in MONGODB_URL`
  if (syscall === 'open' || syscall === 'read')
    return `a file named in MONGODB_URL cannot be read (${code}); check the tls options`
  if (/^ERR_(OSSL|SSL|TLS)/.test(code))
    return `TLS failed (${code}); check the certificates and keys named in MONGODB_URL`
  return null
}

function driverFailureOf(cause: Error): string | null {
  return KINDS.find(([kind]) => cause instanceof kind)?.[1] ?? null
}

/** Accepts only a name of the system, because any other text might come from the URL. */
function codeOf({ code }: NodeJS.ErrnoException): string | null {
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : null
}

const EXPLANATIONS: readonly Explain[] = [answerOf, systemFailureOf, driverFailureOf]

/** Uses the innermost cause that explains the failure. Contains nothing of the URL but its hosts. */
function failureOf(error: unknown): string {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) causes.unshift(cause)
  for (const explain of EXPLANATIONS)
    for (const cause of causes) {
      const explained = explain(cause)
      if (explained !== null) return explained
    }
  const [innermost] = causes
  return `it cannot be used (${innermost === undefined ? 'unknown' : (codeOf(innermost) ?? innermost.name)})`
}
