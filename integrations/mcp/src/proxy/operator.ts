/** What the operator gets: the log and the exit code. */

/** 64 and 78 are EX_USAGE and EX_CONFIG of sysexits.h. A command that cannot be started ends with the code of a shell. */
export const EXIT = { ok: 0, failure: 1, usage: 64, config: 78 } as const

/** On standard error only: standard output is for the protocol. */
export interface Log {
  info(message: string): void
  warn(message: string): void
  error(message: string): void
}

/** Plain text on a terminal, JSON lines otherwise. A closed standard error does not stop the proxy. */
export function standardErrorLog(): Log {
  process.stderr.on('error', () => {})
  const write = (level: string, msg: string): void => {
    const line = { level, time: new Date().toISOString(), msg }
    process.stderr.write(`${process.stderr.isTTY ? msg : JSON.stringify(line)}\n`)
  }
  return {
    info: (message) => write('info', message),
    warn: (message) => write('warn', message),
    error: (message) => write('error', message),
  }
}
