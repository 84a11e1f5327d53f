/** The spans of an agent, of its client and of the shipped server, at a real collector. */
import { createServer } from 'node:net'
import { Countersign } from '@countersign/client'
import { countersignGuard } from '@countersign/langchain'
import { until } from '@countersign/testkit'
import { AIMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createAgent, tool } from 'langchain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { endChildren } from './child.js'
import { type CollectedSpan, type Collector, startCollector } from './collector.js'
import { countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

/** The time for the last spans, and room for a busy machine. An export may take 10 s. */
const STOP_MS = 6_000
const SECRET = 'a-secret-of-the-collector'
const RESOURCE = 'card:4111-1111-1111-1111'
const POLICY = {
  name: 'Refunds',
  agents: ['agent:support-*'],
  rules: [
    { action: 'payment.refund', effect: 'deny', conditions: { 'context.amount': { $gt: 100 } } },
    { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
  ],
}

let collector: Collector
beforeAll(async () => {
  collector = await startCollector()
}, 30_000)
afterAll(endChildren)
afterAll(removeDirectories)

const serverWith = (env: Record<string, string>) => ShippedServer.start({ dataDir: newDirectory(), env })
const exporting = () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '100' })
const questionOf = (traceparent: string) => ({
  body: { agent_id: 'agent:a', action: 'payment.refund', resource: RESOURCE, context: { amount: 1 } },
  headers: { traceparent },
})
const traceIdOf = (digit: string) => digit.repeat(32)
const parentOf = (digit: string) => `00-${traceIdOf(digit)}-${'b'.repeat(16)}-01`

describe('an agent of LangChain', () => {
  let provider: BasicTracerProvider
  beforeAll(() => {
    provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url: `${collector.endpoint}/v1/traces` }))],
    })
    trace.setGlobalTracerProvider(provider)
    context.setGlobalContextManager(new AsyncLocalStorageContextManager())
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  })
  afterAll(async () => {
    trace.disable()
    context.disable()
    propagation.disable()
    await provider.shutdown()
  })

  /** One run of the agent, whose model refunds this amount; the id of its trace. */
  async function refund(server: ShippedServer, amount: number): Promise<string> {
    const client = new Countersign({ baseUrl: server.url, apiKey: server.key, agentId: 'agent:support-7' })
    const pay = tool(() => 'paid', { name: 'refund', schema: z.object({ amount: z.number() }) })
    const call = { type: 'tool_call', id: 'call_0', name: 'refund', args: { amount } } as const
    const model = fakeModel()
      .respond(new AIMessage({ content: '', tool_calls: [call] }))
      .respond(new AIMessage('done'))
    const map = {
      refund: { action: 'payment.refund', resource: RESOURCE, context: ({ amount }: never) => ({ amount }) },
    }
    const agent = createAgent({ model, tools: [pay], middleware: [countersignGuard({ client, map })] })
    const traceId = await trace.getTracer('a test').startActiveSpan('agent', async (span) => {
      await agent.invoke({ messages: [{ role: 'human', content: 'refund it' }] })
      span.end()
      return span.spanContext().traceId
    })
    await client.flush()
    client.close()
    return traceId
  }

  it('has one tree: the agent, the decision, the request, and its steps', async () => {
    const server = await serverWith(exporting())
    expect(await server.call('POST', '/v1/policies', { body: POLICY })).toMatchObject({ status: 201 })
    const traceId = await refund(server, 42)
    const spans = await collector.spansOf(traceId, 7)
    const treeOf = (parentId: string): unknown =>
      Object.fromEntries(spans.filter((span) => span.parentId === parentId).map(({ name, id }) => [name, treeOf(id)]))
    const settle = { 'POST /v1/decisions/{id}/confirm': {} }
    const steps = { evaluate: {}, commit: {}, sign: {} }
    expect(treeOf('')).toEqual({
      agent: { 'countersign.decision': { 'POST /v1/decisions': steps }, ...settle },
    })
    expect(spanNamed(spans, 'POST /v1/decisions')).toMatchObject({
      resource: { 'service.name': 'countersign' },
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/decisions',
        'http.response.status_code': '200',
        'countersign.decision.id': spanNamed(spans, 'countersign.decision').attributes['countersign.decision.id'],
        'countersign.decision.effect': 'allow',
      },
    })
    await server.stop()
  })

  it('shows of a refused tool why it did not run, and no argument anywhere', async () => {
    const server = await serverWith(exporting())
    expect(await server.call('POST', '/v1/policies', { body: POLICY })).toMatchObject({ status: 201 })
    const spans = await collector.spansOf(await refund(server, 4_242), 5)
    const said = { 'countersign.decision.effect': 'deny', 'countersign.policy.rule': '0' }
    expect(spanNamed(spans, 'POST /v1/decisions').attributes).toMatchObject(said)
    const { attributes, status } = spanNamed(spans, 'countersign.decision')
    expect(attributes).toMatchObject({ ...said, 'countersign.refusal.reason': 'denied' })
    expect(status).toBe('STATUS_CODE_UNSET')
    await server.stop()
    expect(collector.text).not.toMatch(/card:|amount|eyJ|cs_sk_|a-key-for-tests/)
  })
})

describe('a server that exports', () => {
  it('takes names, attributes, the sampler and the endpoint of traces from the environment as the SDK does', async () => {
    const silent = await serverWith({ ...exporting(), OTEL_TRACES_SAMPLER: 'always_off' })
    await silent.call('POST', '/v1/decisions', questionOf(parentOf('2')))
    await silent.stop()
    const named = { OTEL_SERVICE_NAME: 'decisions-eu', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' }
    const elsewhere = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
    const spans = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.endpoint}/v1/traces` }
    const server = await serverWith({ ...exporting(), ...named, ...elsewhere, ...spans })
    await server.call('POST', '/v1/decisions', questionOf(parentOf('1')))
    const [span] = await collector.spansOf(traceIdOf('1'), 1)
    expect(span?.resource).toMatchObject({ 'service.name': 'decisions-eu', 'deployment.environment.name': 'test' })
    await server.stop()
    expect(collector.text).not.toContain(traceIdOf('2'))
  })

  it('sends what is left when it stops', async () => {
    const server = await serverWith({ ...exporting(), OTEL_BSP_SCHEDULE_DELAY: '600000' })
    await server.call('POST', '/v1/decisions', questionOf(parentOf('3')))
    expect((await server.stop()).code).toBe(0)
    await collector.spansOf(traceIdOf('3'), 3)
  })

  it.each<[string, (sockets: Set<{ destroy(): void }>) => ReturnType<typeof createServer> | null]>([
    ['is down', () => null],
    ['never answers', (sockets) => createServer((socket) => void sockets.add(socket))],
  ])('decides and stops while the collector %s, says so once, and keeps its secret', async (_what, open) => {
    const sockets = new Set<{ destroy(): void }>()
    const hung = open(sockets)
    const port = await new Promise<number>((resolve) => {
      if (hung === null) resolve(1)
      else hung.listen(0, '127.0.0.1', () => resolve((hung.address() as { port: number }).port))
    })
    const server = await serverWith({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${SECRET}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '200',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BSP_MAX_QUEUE_SIZE: '8',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4',
    })
    const losses = () => server.lines.filter(({ msg }) => `${msg}`.startsWith('the collector takes no spans'))
    // Until it has failed, and some more.
    for (let count = 0; count < 20 || losses().length === 0; count += 1) {
      const { status } = await server.call('POST', '/v1/decisions', questionOf(parentOf('4')))
      expect(status).toBe(200)
    }
    const before = performance.now()
    expect((await server.stop()).code).toBe(0)
    expect(performance.now() - before).toBeLessThan(STOP_MS)
    expect(losses()).toHaveLength(1)
    expect(server.stdout + server.stderr).not.toContain(SECRET)
    for (const socket of sockets) socket.destroy()
    hung?.close()
  })

  it('does not wait long for a collector that hangs when it stops', async () => {
    const sockets = new Set<{ destroy(): void }>()
    const hung = createServer((socket) => void sockets.add(socket))
    await new Promise<void>((resolve) => hung.listen(0, '127.0.0.1', resolve))
    const { port } = hung.address() as { port: number }
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_BSP_SCHEDULE_DELAY: '50' }
    const server = await serverWith(env)
    await server.call('POST', '/v1/decisions', questionOf(parentOf('5')))
    await until('an export', () => (sockets.size > 0 ? true : undefined))
    const before = performance.now()
    expect((await server.stop()).code).toBe(0)
    expect(performance.now() - before).toBeLessThan(STOP_MS)
    for (const socket of sockets) socket.destroy()
    hung.close()
  })
})

describe('doctor', () => {
  const linesOf = async (env: Record<string, string>) => {
    const child = countersign(['doctor'], { env: { DATA_DIR: newDirectory(), PORT: '0', ...env } })
    await child.end()
    return child.stdout
  }

  it('says whether spans are exported, and whether the collector takes them', async () => {
    expect(await linesOf({})).toMatch(/^ok +traces +Not exported: OTEL_EXPORTER_OTLP_ENDPOINT is not set\.$/m)
    const disabled = await linesOf({ ...exporting(), OTEL_SDK_DISABLED: 'true' })
    expect(disabled).toMatch(/^ok +traces +Not exported: OTEL_SDK_DISABLED is true\.$/m)
    expect(await linesOf(exporting())).toMatch(/^ok +traces +Exported to http:\S+, which takes them\.$/m)
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_HEADERS: `a=${SECRET}` }
    const text = await linesOf(env)
    expect(text).toMatch(
      /^problem +traces +The collector at http:\/\/127.0.0.1:1\/v1\/traces takes no spans \(ECONNREFUSED\)/m,
    )
    expect(text).not.toContain(SECRET)
  })
})

function spanNamed(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const found = spans.find((span) => span.name === name)
  if (found === undefined) throw new Error(`There is no span ${name} in ${spans.map((span) => span.name)}.`)
  return found
}
