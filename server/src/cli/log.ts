import pino from 'pino'
import type { Log } from '../ports/log.js'

/** JSON lines on standard output, one object a line. */
export function jsonLog(level: string): Log & { flush(): void } {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: ['authorization', 'key', '*.authorization', '*.key'],
  })
}
