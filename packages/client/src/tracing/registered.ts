/**
 * What `@opentelemetry/api` has registered in this process. All its copies of one major version share one object, under
 * this symbol; without an SDK there is none. So nothing is imported: a bundler would fail where the optional package is absent.
 */
import type { ContextManager, TextMapPropagator, TracerProvider } from '@opentelemetry/api'

interface Registered {
  readonly trace?: TracerProvider
  readonly context?: ContextManager
  readonly propagation?: TextMapPropagator
}

const REGISTRY = Symbol.for('opentelemetry.js.api.1')

export function registered(): Registered | undefined {
  return (globalThis as unknown as Readonly<Record<symbol, Registered | undefined>>)[REGISTRY]
}

/** Does it, whatever the tracer of the app throws: a fault of tracing changes no decision. */
export function safely(work: () => void): void {
  try {
    work()
  } catch {
    // Faults of the tracer do not matter here.
  }
}
