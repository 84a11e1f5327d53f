import pino from 'pino'
import type { Log } from '../ports/log.js'

/** The buffer for a slow reader, in bytes. Lines that do not fit are dropped. */
const BACKLOG_BYTES = 4 * 1024 * 1024
/**
 * A write wakes another thread, and then this one. It has all lines of this time, or this many bytes, which a pipe takes at
 * once even with a line more. Only a warning or an error does not wait.
 */
const GATHER_MS = 20
const GATHERED_BYTES = 3072
/** Members that are redacted in every line, at the top level or one below. */
const SECRETS = ['authorization', 'key']

interface LineOutput extends pino.DestinationStream {
  /** Writes what was gathered. */
  readonly flush?: () => void
}

/**
 * Writes JSON lines to standard output, one object per line. When the log cannot be written (a full disk, a reader that
 * hangs or is gone), lines are lost and the server continues: the audit log is the record.
 */
export function jsonLog(level: string, output: LineOutput = standardOutput()): Log {
  const timestamp = pino.stdTimeFunctions.isoTime
  const settings = { level, base: null, timestamp, formatters: { level: (label: string) => ({ level: label }) } }
  const plain = pino(settings, output)
  const redacting = pino({ ...settings, redact: SECRETS.flatMap((name) => [name, `*.${name}`]) }, output)
  const logFor = (fields: object) => (mayHoldSecrets(fields) ? redacting : plain)
  return {
    info: (fields, message) => logFor(fields).info(fields, message),
    warn(fields, message) {
      logFor(fields).warn(fields, message)
      output.flush?.()
    },
    error(fields, message) {
      logFor(fields).error(fields, message)
      output.flush?.()
    },
  }
}

/** False where the redaction would change nothing. Redacting costs more than the rest of a line. */
function mayHoldSecrets(fields: object): boolean {
  return Object.entries(fields).some(([name, value]) => typeof value === 'object' || SECRETS.includes(name))
}

/** When the process exits, it writes what is left. */
function standardOutput(): LineOutput {
  const output = pino.destination({ dest: 1, sync: false, minLength: GATHERED_BYTES, maxLength: BACKLOG_BYTES })
  let unwrittenBytes = 0
  let isFlushDue = false
  let isUrgent = false
  const flush = () => {
    if (unwrittenBytes > 0) output.flush()
  }
  const flushSoon = () => {
    if (isFlushDue) return
    isFlushDue = true
    setTimeout(() => {
      isFlushDue = false
      flush()
    }, GATHER_MS).unref()
  }
  output.on('error', () => {})
  output.on('write', (bytes) => {
    unwrittenBytes -= bytes
  })
  output.on('drop', (line) => {
    unwrittenBytes -= Buffer.byteLength(line)
  })
  // During a write, a flush does nothing.
  output.on('drain', () => {
    if (isUrgent) flush()
    else if (unwrittenBytes > 0) flushSoon()
    isUrgent = false
  })
  return {
    write(line) {
      unwrittenBytes += Buffer.byteLength(line)
      output.write(line)
      flushSoon()
    },
    flush() {
      isUrgent = true
      flush()
    },
  }
}
