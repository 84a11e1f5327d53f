import type { Decision } from '@countersign/contract'

/** A part of a decision: `sign` runs during `commit`. */
export type Step = 'evaluate' | 'reserve' | 'commit' | 'sign'

/**
 * Spans for OpenTelemetry. No method throws or waits. Pass no text that a caller chose, apart from the ids and the action
 * of a decision: others can read a trace who may not read the audit log.
 */
export interface Tracer {
  /**
   * Begins the span of a request. Null when it is not recorded.
   *
   * @param route the template of its path (`/v1/policies/{id}`), null for an unknown path
   * @param headers continue the trace of the caller
   */
  begin(method: string, route: string | null, headers: TraceHeaders): RequestSpan | null
  /** Sends what is left, within a time limit. Never rejects. */
  close(): Promise<void>
}

/** As node:http gives them. `traceparent` of W3C Trace Context is read. */
export type TraceHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The span of one request. */
export interface RequestSpan {
  /** Adds a child span that ends now. @param startedMs by `performance.now()` */
  step(step: Step, startedMs: number, hasFailed?: boolean): void
  /** Says what was decided, and by which rule. */
  decided(decision: Decision): void
  /** @param status null when the caller has disconnected before there was one */
  end(status: number | null): void
}

/** The tracer of a server that exports no spans. */
export const NO_TRACER: Tracer = { begin: () => null, close: () => Promise.resolve() }
