/** Exit codes: 78 is EX_CONFIG of sysexits.h. */
export const EXIT = { ok: 0, failure: 1, usage: 64, config: 78 } as const

/** Tells on standard error why the command ends: a sentence for a person, a JSON line for a machine. */
export function fail(error: Error, code: number): number {
  const { message: msg, name: type, stack } = error
  // What is wrong with the settings or the command line is no matter of where it was noticed.
  const err = code === EXIT.failure ? { type, stack } : undefined
  const line = { level: 'fatal', time: new Date().toISOString(), msg, err }
  process.stderr.write(`${process.stderr.isTTY ? msg : JSON.stringify(line)}\n`)
  return code
}
