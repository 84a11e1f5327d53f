/** What the proxy says to its operator, on standard error alone: standard output belongs to the protocol. */
export interface Log {
  info(message: string): void
  warn(message: string): void
  error(message: string): void
}

/** A sentence for a person, a JSON line for a machine. A log that nobody reads stops nothing. */
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
