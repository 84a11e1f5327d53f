import pino from 'pino'
import type { Log } from '../ports/log.js'

/** The buffer for a slow reader, in bytes. Lines that do not fit are dropped. */
const BACKLOG_BYTES = 4 * 1024 * 1024

/**
 * JSON lines on standard output, one object per line. When the log cannot be written (a full disk, a reader that hangs or is
 * gone), it loses lines and the server goes on: the record is the audit log.
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
