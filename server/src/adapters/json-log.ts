import pino from 'pino'
import type { Log } from '../ports/log.js'

/** The buffer for a slow reader, in bytes. Lines that do not fit are dropped. */
const BACKLOG_BYTES = 4 * 1024 * 1024
/** Lines of information leave together: when there are so many bytes, or after so long. A write costs more than many lines. */
const TOGETHER = { bytes: 8192, ms: 50 }
/** Members that no line shows, at the top or one below. */
const SECRETS = ['authorization', 'key']

/**
 * JSON lines on standard output, one object per line. When the log cannot be written (a full disk, a reader that hangs or is
 * gone), it loses lines and the server goes on: the record is the audit log.
 */
export function jsonLog(level: string, output: Output = standardOutput()): Log {
  const timestamp = pino.stdTimeFunctions.isoTime
  const settings = { level, base: null, timestamp, formatters: { level: (label: string) => ({ level: label }) } }
  const plain = pino(settings, output)
  const redacting = pino({ ...settings, redact: SECRETS.flatMap((name) => [name, `*.${name}`]) }, output)
  const logFor = (fields: object) => (mayHoldSecrets(fields) ? redacting : plain)
  const now = (level: 'warn' | 'error') => (fields: object, message: string) => {
    logFor(fields)[level](fields, message)
    output.flush?.()
  }
  return { info: (fields, message) => logFor(fields).info(fields, message), warn: now('warn'), error: now('error') }
}

/** `flush` writes the lines that wait. */
type Output = pino.DestinationStream & { flush?(): void }

/** False where the redaction would change nothing. It costs more than the rest of a line. */
function mayHoldSecrets(fields: object): boolean {
  return Object.entries(fields).some(([name, value]) => typeof value === 'object' || SECRETS.includes(name))
}

function standardOutput(): Output {
  const output = pino.destination({ dest: 1, sync: false, minLength: TOGETHER.bytes, maxLength: BACKLOG_BYTES })
  output.on('error', () => {})
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    // At the exit of the process it is written and destroyed.
    if (!('destroyed' in output && output.destroyed === true)) output.flush()
  }
  return {
    write(line) {
      if (timer === undefined) timer = setTimeout(flush, TOGETHER.ms).unref()
      output.write(line)
    },
    flush,
  }
}
