/** Spans of this server by the SDK of OpenTelemetry. Loaded only when they are exported. Source: docs/tracing.md. */
import type { Decision } from '@countersign/contract'
import {
  type Context,
  defaultTextMapGetter,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { withDeadline } from '../../concurrency/with-deadline.js'
import type { Log } from '../../ports/log.js'
import type { RequestSpan, Step, TraceHeaders, Tracer } from '../../ports/tracer.js'
import { otlpExporter, reportingLosses } from './exporter.js'

/** A part of the time in which the server closes its store. */
const FLUSH_MS = 2_000
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
const propagator = new W3CTraceContextPropagator()

/**
 * Exports spans in batches, in the background. What a collector does not take in time is dropped: at most
 * OTEL_BSP_MAX_QUEUE_SIZE spans (2,048) wait.
 */
export function otlpTracer(url: string, log: Log): Tracer {
  const exporter = reportingLosses(otlpExporter({ url }), url, log)
  // Not registered: an application around this server has its own.
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'countersign' }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  })
  const tracer = provider.getTracer('@countersign/server')
  return {
    begin: (method, route, headers) => quietly(() => beginSpan(tracer, method, route, headers)) ?? null,
    async close() {
      await withDeadline(provider.shutdown(), FLUSH_MS, () => new Error('late')).catch((error: Error) =>
        log.warn({ cause: error.message === 'late' ? 'late' : error.name }, 'the last spans could not be sent'),
      )
    },
  }
}

function beginSpan(
  tracer: OtelTracer,
  method: string,
  route: string | null,
  { traceparent }: TraceHeaders,
): RequestSpan | null {
  const known = METHODS.has(method)
  // Not `tracestate`: it is a text that the caller chose.
  const around = propagator.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter)
  const span = tracer.startSpan(
    [known ? method : 'HTTP', ...(route === null ? [] : [route])].join(' '),
    {
      kind: SpanKind.SERVER,
      attributes: {
        'http.request.method': known ? method : '_OTHER',
        ...(route !== null && { 'http.route': route }),
      },
    },
    around,
  )
  return span.isRecording() ? new OtlpRequestSpan(tracer, span, around) : null
}

class OtlpRequestSpan implements RequestSpan {
  readonly #tracer: OtelTracer
  readonly #span: Span
  readonly #within: Context

  constructor(tracer: OtelTracer, span: Span, around: Context) {
    this.#tracer = tracer
    this.#span = span
    this.#within = trace.setSpan(around, span)
  }

  step(step: Step, startedMs: number, hasFailed = false): void {
    quietly(() => {
      const span = this.#tracer.startSpan(step, { startTime: startedMs }, this.#within)
      if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(performance.now())
    })
  }

  decided({ id, effect, status, reason_code, policy_id, rule, agent_id, action }: Decision): void {
    quietly(() =>
      this.#span.setAttributes({
        'countersign.decision.id': id,
        'countersign.decision.effect': effect,
        'countersign.decision.status': status,
        'countersign.decision.reason_code': reason_code,
        'countersign.agent.id': agent_id,
        'countersign.action': action,
        ...(policy_id !== null && { 'countersign.policy.id': policy_id }),
        ...(rule !== null && { 'countersign.policy.rule': rule }),
      }),
    )
  }

  end(status: number | null): void {
    quietly(() => {
      if (status !== null) this.#span.setAttribute('http.response.status_code', status)
      if (status !== null && status >= 500) {
        this.#span.setAttribute('error.type', `${status}`)
        this.#span.setStatus({ code: SpanStatusCode.ERROR })
      }
      this.#span.end()
    })
  }
}

/** A fault of the SDK must not undo a decision that is durable. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
