import { registered, safely } from './registered.js'

/** Not the baggage: it may hold personal data of the app. */
const SENT: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])
/** Anything else would make the request invalid. */
const HEADER_VALUE = /^[\x20-\x7e]{1,1024}$/

/** The headers that continue the active trace at the decision point; none without OpenTelemetry or an active span. */
export function traceHeaders(): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  safely(() => {
    const { context, propagation } = registered() ?? {}
    if (context === undefined || propagation === undefined) return
    propagation.inject(context.active(), headers, {
      set(_carrier, name, value) {
        const known = String(name).toLowerCase()
        if (SENT.has(known) && typeof value === 'string' && HEADER_VALUE.test(value)) headers[known] = value
      },
    })
  })
  return headers
}
