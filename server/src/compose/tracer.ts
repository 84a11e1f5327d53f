import { type Config, exportOfSpans } from '../config.js'
import type { Log } from '../ports/log.js'
import { NO_TRACER, type Tracer } from '../ports/tracer.js'

/** The tracer that the settings ask for. */
export async function openTracer(config: Config, log: Log): Promise<Tracer> {
  const { url } = exportOfSpans(config)
  if (url === null) return NO_TRACER
  // Loaded only when used: the SDK of OpenTelemetry is as large as the rest of the server.
  const { otlpTracer } = await import('../adapters/otlp-tracer/otlp-tracer.js')
  return otlpTracer(url, log)
}
