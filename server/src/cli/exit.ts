/** Exit codes: 78 is EX_CONFIG of sysexits.h. */
export const EXIT = { ok: 0, failure: 1, usage: 64, config: 78 } as const

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

/** Writes why the command ends, and returns the exit code. */
export function fail(error: Error, code: number): number {
  const { message: msg, name: type, stack } = error
  // The stack does not help with a wrong setting or a wrong command line.
  const err = code === EXIT.failure ? { type, stack } : undefined
  writeNotice('fatal', msg, { err })
  return code
}

/** Writes to standard error: a sentence for a person, a JSON line for a machine. */
export function writeNotice(level: 'warn' | 'fatal', msg: string, fields: object): void {
  const line = { level, time: new Date().toISOString(), msg, ...fields }
  process.stderr.write(`${process.stderr.isTTY ? msg : JSON.stringify(line)}\n`)
}
