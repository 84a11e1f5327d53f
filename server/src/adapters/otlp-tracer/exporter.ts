/** Sends spans to a collector, and tells the log when it cannot. */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Log } from '../../ports/log.js'

/** Between two lines of the log about a collector that takes no spans. */
const SAY_EVERY_MS = 60_000

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0]

export interface ExporterOptions {
  /** Where spans are sent, with the path. */
  readonly url: string
  /** Time limit of one export, with its retries. Default: OTEL_EXPORTER_OTLP_TIMEOUT, or 10 s. */
  readonly timeoutMs?: number
}

/** The SDK reads further settings from the environment, such as OTEL_EXPORTER_OTLP_HEADERS. */
export function otlpExporter({ url, timeoutMs }: ExporterOptions): SpanExporter {
  return new OTLPTraceExporter({
    url,
    ...(timeoutMs !== undefined && { timeoutMillis: timeoutMs }),
  })
}

/** Says once in a while that spans are lost, and once that they arrive again. */
export function reportingLosses(exporter: SpanExporter, url: string, log: Log): SpanExporter {
  const { origin } = new URL(url)
  let lost = 0
  let saidAt = Number.NEGATIVE_INFINITY
  const note = ({ code, error }: ExportResult, count: number): void => {
    if (code === 0) {
      if (lost > 0) log.info({ collector: origin, lost_spans: lost }, 'the collector takes spans again')
      lost = 0
      saidAt = Number.NEGATIVE_INFINITY
      return
    }
    lost += count
    const now = performance.now()
    if (now - saidAt < SAY_EVERY_MS) return
    saidAt = now
    log.warn(
      { collector: origin, lost_spans: lost, cause: causeOf(error) },
      'the collector takes no spans; decisions are not affected',
    )
  }
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        note(result, spans.length)
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush !== undefined && { forceFlush: () => exporter.forceFlush?.() as Promise<void> }),
  }
}

/** A status or a code, never a message: a collector that answers with what it got would put the headers into the log. */
export function causeOf(error: Error | undefined): string {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } }
  if (typeof code === 'number') return `HTTP status ${code}`
  const name = typeof code === 'string' ? code : cause?.code
  return typeof name === 'string' && /^[A-Z_0-9]{1,40}$/.test(name) ? name : 'no answer in time'
}
