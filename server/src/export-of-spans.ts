import type { Config } from './config.js'

/** The endpoint that OpenTelemetry gives to OTLP by HTTP. */
const DEFAULT_ENDPOINT = 'http://localhost:4318'

interface ExportOfSpans {
  /** Where spans are sent; null: nowhere. */
  readonly url: string | null
  /** Why they are sent nowhere, as the text that follows `because` in a sentence. */
  readonly reason: string | null
}

type Settings = Pick<Config, 'otelSdkDisabled' | 'otlpEndpoint' | 'otlpTracesEndpoint' | 'tracesExporter'>

/** What the settings ask for, with the meaning that OpenTelemetry gives to its variables. Without any of them, nothing is sent. */
export function exportOfSpans({
  otelSdkDisabled,
  otlpEndpoint,
  otlpTracesEndpoint,
  tracesExporter,
}: Settings): ExportOfSpans {
  if (otelSdkDisabled) return { url: null, reason: 'OTEL_SDK_DISABLED is true' }
  if (tracesExporter === 'none') return { url: null, reason: 'OTEL_TRACES_EXPORTER is none' }
  if (otlpTracesEndpoint !== null) return { url: otlpTracesEndpoint, reason: null }
  const endpoint = otlpEndpoint ?? (tracesExporter === 'otlp' ? DEFAULT_ENDPOINT : null)
  if (endpoint === null) return { url: null, reason: 'OTEL_EXPORTER_OTLP_ENDPOINT is not set' }
  return { url: `${endpoint.replace(/\/+$/, '')}/v1/traces`, reason: null }
}
