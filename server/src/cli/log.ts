import pino from 'pino'
import type { Log } from '../ports/log.js'

/** For commands whose standard output is an answer: a sentence for a person, a JSON line for a machine. */
export const noticeLog: Pick<Log, 'warn'> = {
  warn(fields, msg) {
    const line = { level: 'warn', time: new Date().toISOString(), msg, ...fields }
    process.stderr.write(`${process.stderr.isTTY ? msg : JSON.stringify(line)}\n`)
  },
}

/** What waits to be written while the reader is slow; lines beyond it are dropped. */
const BACKLOG_BYTES = 4 * 1024 * 1024

/**
 * JSON lines on standard output, one object a line. A log that cannot be written (a full disk, a reader that stands still
 * or is gone) loses lines and stops nothing: the audit log is the record, not this one.
 */
export function jsonLog(level: string): Log {
  const output = pino.destination({ dest: 1, sync: false, maxLength: BACKLOG_BYTES })
  output.on('error', () => {})
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: ['authorization', 'key', '*.authorization', '*.key'],
    },
    output,
  )
}
