/** Exit codes: 78 is EX_CONFIG of sysexits.h. */
export const EXIT = { ok: 0, failure: 1, usage: 64, config: 78 } as const

/** Writes to standard error why the command ends: a sentence for a person, a JSON line for a machine. */
export function fail(error: Error, code: number): number {
  const { message: msg, name: type, stack } = error
  // The stack does not help with a wrong setting or a wrong command line.
  const err = code === EXIT.failure ? { type, stack } : undefined
  const line = { level: 'fatal', time: new Date().toISOString(), msg, err }
  process.stderr.write(`${process.stderr.isTTY ? msg : JSON.stringify(line)}\n`)
  return code
}
