/** A real collector of OpenTelemetry, in a process of its own, that prints the spans that it gets. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, until } from '@countersign/testkit'
import { Child } from './child.js'

const INSTALLED = fileURLToPath(new URL('../../../node_modules/.countersign/otlp-collector', import.meta.url))

export interface CollectedSpan {
  readonly name: string
  readonly id: string
  readonly traceId: string
  /** Empty for the root. */
  readonly parentId: string
  readonly status: string
  readonly attributes: Readonly<Record<string, string>>
  /** Of the program that sent it. */
  readonly resource: Readonly<Record<string, string>>
}

export interface Collector {
  readonly endpoint: string
  /** Everything that it printed. */
  readonly text: string
  /** The spans of this trace, once there are as many. */
  spansOf(traceId: string, count: number): Promise<readonly CollectedSpan[]>
  stop(): Promise<void>
}

export async function startCollector(): Promise<Collector> {
  const [http, grpc] = [await freePort(), await freePort()]
  const addresses = ['--otlp-http-endpoint', `127.0.0.1:${http}`, '--otlp-grpc-endpoint', `127.0.0.1:${grpc}`]
  const printing = ['--exporter', 'blackhole', '--debug-log', 'traces', '--debug-log-verbosity', 'detailed']
  const child = new Child(program(), ['start', ...printing, ...addresses])
  await child.says(/Starting Rotel/)
  const endpoint = `http://127.0.0.1:${http}`
  await until(`the collector at ${endpoint}`, () =>
    fetch(endpoint).then(
      () => true,
      () => undefined,
    ),
  )
  const spansOf = (traceId: string) => readSpans(child.stdout).filter((span) => span.traceId === traceId)
  return {
    endpoint,
    get text() {
      return child.stdout
    },
    spansOf: (traceId, count) =>
      until(`${count} spans of ${traceId}`, () => {
        const spans = spansOf(traceId)
        return spans.length >= count ? spans : undefined
      }),
    async stop() {
      await child.kill()
    },
  }
}

function program(): string {
  const lib = join(INSTALLED, 'lib')
  const [python] = readdirSync(lib).filter((name) => name.startsWith('python'))
  if (python === undefined) throw new Error('The collector is not installed: scripts/otlp-collector.mjs says why.')
  return join(lib, python, 'site-packages', 'rotel', 'rotel-agent')
}

/** Reads what the collector prints of each export. */
function readSpans(text: string): CollectedSpan[] {
  return text
    .split(/^ResourceSpans #\d+$/m)
    .slice(1)
    .flatMap((one) => {
      const [head = '', ...spans] = one.split(/^Span #\d+$/m)
      const resource = attributesIn(head)
      return spans.map((span) => ({
        name: fieldOf(span, 'Name'),
        id: fieldOf(span, 'ID'),
        traceId: fieldOf(span, 'Trace ID'),
        parentId: fieldOf(span, 'Parent ID'),
        status: fieldOf(span, 'Status code'),
        attributes: attributesIn(span),
        resource,
      }))
    })
}

function fieldOf(text: string, name: string): string {
  return new RegExp(`^ *${name} *: ?(.*)$`, 'm').exec(text)?.[1] ?? ''
}

function attributesIn(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/^ *-> ([\w.]+): \w+\((.*)\)$/gm)].map(([, name, value]) => [name, value]),
  )
}
