import { AssertionError } from 'node:assert'
import { printable } from '@countersign/client/text'
import { jsonLine } from './live/shown-text.js'

/** Exit codes: 78 is EX_CONFIG of sysexits.h. */
export const EXIT = { ok: 0, failure: 1, usage: 64, config: 78 } as const

/** Far longer than any sentence for a person. */
const MAX_LINE_CHARACTERS = 4_000

/** Ends the command with a specific exit code. */
export class CommandError extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

export function failure(message: string, cause?: unknown): CommandError {
  return new CommandError(EXIT.failure, message, { cause })
}

/** For a command line that a person must correct. */
export function usageError(message: string, cause?: unknown): CommandError {
  return new CommandError(EXIT.usage, message, { cause })
}

/** Returns the exit code of a command that a server refused with this status. */
export function exitCodeOfStatus(status: number): number {
  if (status === 400) return EXIT.usage
  return status === 401 || status === 403 ? EXIT.config : EXIT.failure
}

/** Writes the reason why the command ends, and returns the exit code. */
export function fail(error: Error, code: number): number {
  const { message: msg, name: type, stack } = error
  // The stack does not help with a wrong setting or a wrong command line.
  const err = code === EXIT.failure && isFaultOfProgram(error) ? { type, stack } : undefined
  writeNotice('fatal', msg, { err })
  return code
}

/** Whether it is a fault of Countersign itself. Other errors say what an operator can do. */
export function isFaultOfProgram(error: Error): boolean {
  return OF_THE_LANGUAGE.has(error.constructor) && !('syscall' in error)
}

/** Errors of the language and of a plain `throw new Error`. */
const OF_THE_LANGUAGE: ReadonlySet<unknown> = new Set([
  ...[Error, TypeError, RangeError, ReferenceError, SyntaxError, EvalError, URIError, AggregateError, AssertionError],
])

/**
 * Writes to standard error: a sentence for a person, a JSON line for a machine. It may quote servers and files, so
 * terminal control characters are removed.
 */
export function writeNotice(level: 'warn' | 'fatal', msg: string, fields: object): void {
  process.stderr.write(`${process.stderr.isTTY ? shown(msg) : jsonLine({ level, time: new Date(), msg, ...fields })}\n`)
}

/** Keeps line breaks, because the faults of a configuration are a list. */
function shown(msg: string): string {
  return msg
    .split('\n')
    .map((line) => printable(line, MAX_LINE_CHARACTERS))
    .join('\n')
}
