import { type Config, exportOfSpans } from '../../config.js'
import { type Finding, fine, problem } from './finding.js'

const ANSWER_MS = 3000

/** Whether spans are exported, and the collector takes them: it is sent an export without spans. */
export async function checkTraces(config: Config): Promise<Finding> {
  const { url, reason } = exportOfSpans(config)
  if (url === null) return fine(`Not exported: ${reason}.`)
  const { causeOf, otlpExporter } = await import('../../adapters/otlp-tracer/exporter.js')
  const exporter = otlpExporter({ url, timeoutMs: ANSWER_MS })
  const { code, error } = await new Promise<Parameters<Parameters<typeof exporter.export>[1]>[0]>((resolve) =>
    exporter.export([], resolve),
  )
  await exporter.shutdown()
  if (code === 0) return fine(`Exported to ${url}, which takes them.`)
  return problem(
    `The collector at ${url} takes no spans (${causeOf(error)}). Decisions are not affected.`,
    'start it, and check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS; or set OTEL_TRACES_EXPORTER to none.',
  )
}
