import type { Config } from '../config.js'
import type { Log } from '../ports/log.js'
import { NO_TRACER, type Tracer } from '../ports/tracer.js'

/** The tracer that the settings ask for. */
export async function openTracer({ otlpEndpoint }: Config, log: Log): Promise<Tracer> {
  if (otlpEndpoint === null) return NO_TRACER
  // Loaded only when used: the SDK of OpenTelemetry is as large as the rest of the server.
  const { otlpTracer } = await import('../adapters/otlp-tracer/otlp-tracer.js')
  return otlpTracer(otlpEndpoint, log)
}
