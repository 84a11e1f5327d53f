import { printable } from '@countersign/client/kernel'
import { jsonLine } from './live/shown-text.js'

/** Exit codes: 78 is EX_CONFIG of sysexits.h. */
export const EXIT = { ok: 0, failure: 1, usage: 64, config: 78 } as const

/** No sentence for a person is nearly as long. */
const MAX_LINE_CHARACTERS = 4_000

/** Ends the command with an exit code of its own. */
export class CommandError extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** How a command ends that a server has refused with this status. */
export function exitCodeOfStatus(status: number): number {
  if (status === 400) return EXIT.usage
  return status === 401 || status === 403 ? EXIT.config : EXIT.failure
}

/** Writes why the command ends, and returns the exit code. */
export function fail(error: Error, code: number): number {
  const { message: msg, name: type, stack } = error
  // The stack does not help with a wrong setting or a wrong command line, nor where the message says what to do.
  const err = code === EXIT.failure && !(error instanceof CommandError) ? { type, stack } : undefined
  writeNotice('fatal', msg, { err })
  return code
}

/**
 * Writes to standard error: a sentence for a person, a JSON line for a machine. It may name what servers and files say, so
 * nothing of it is left that a terminal would obey.
 */
export function writeNotice(level: 'warn' | 'fatal', msg: string, fields: object): void {
  process.stderr.write(`${process.stderr.isTTY ? shown(msg) : jsonLine({ level, time: new Date(), msg, ...fields })}\n`)
}

/** The lines stay lines: the faults of a configuration are a list. */
function shown(msg: string): string {
  return msg
    .split('\n')
    .map((line) => printable(line, MAX_LINE_CHARACTERS))
    .join('\n')
}
