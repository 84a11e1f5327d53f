/** Gated servers of both SDKs as integrations for the enforcement suite: each call goes through a real client. */
import { Countersign } from '@countersign/client'
import { currentRun, type GatedCall, type GateOptions, gate, gateTransport, type MappedCall } from '@countersign/mcp'
import {
  type Act,
  type CallOutcome,
  type EnforcementAdapter,
  type GuardedCall,
  saysFailure,
} from '@countersign/testkit/enforcement-suite'
import { Client as ClientV2, InMemoryTransport as InMemoryV2 } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  inputRequired,
  McpServer as McpServerV2,
  ResourceTemplate as ResourceTemplateV2,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { startHttpProxy } from '../src/proxy/http/http-proxy.js'
import { serveSessions } from './http-rig.js'
import { type HighLevelServer, SDKS, type Sdk } from './sdks.js'

type Args = Pick<GuardedCall, 'resource' | 'context'>

/** As the tool gives it, and the client gets it. */
interface Result {
  readonly [member: string]: unknown
  readonly content?: unknown
}

/** A tool that knows which call of the suite it is, and what the first leg of the same call has left for it. */
type Tool = (args: Args, callId: string, requestState?: string) => Promise<Result>

/** A client whose server has one tool, `act`. */
interface Connection {
  readonly callTool: (params: Params, signal?: AbortSignal) => Promise<Result>
  readonly readResource: (params: { readonly uri: string; readonly _meta: Record<string, unknown> }) => Promise<unknown>
  /** Calls it once the server has been told that a call is cancelled. Absent: that is at once. */
  readonly onCancelled?: (told: () => void) => void
  readonly close: () => Promise<void>
}

interface Params {
  readonly [member: string]: unknown
  readonly name: 'act'
  readonly arguments: Record<string, unknown>
  readonly _meta: Record<string, unknown>
}

/** Where the gate is placed: around the server, around its transport, or in a proxy before it. */
type Placement = 'server' | 'transport' | 'proxy'

const CALL = 'suite/call'
const TOOL = { description: 'Acts.', inputSchema: z.object({ resource: z.string(), context: z.any() }) }
const IMPLEMENTATION = { name: 'enforcement-suite', version: '1.0.0' }
/** Of machines with a lot else to do. */
const PATIENCE_MS = 120_000

const WORDS = 'a result tells of an error in words alone'
const STILL_OPEN = 'what was cancelled may be answered all the same, as long as the connection lasts'
const IN_TRANSPORT = {
  'leaves open what lost its answer, as the name of its class tells: its budget pays for no other call': WORDS,
  'leaves open what lost its answer, as a status tells: its budget pays for no other call': WORDS,
  'leaves open what lost its answer, as a cause of its cause tells: its budget pays for no other call': WORDS,
  'leaves open what lost its answer, as one of the errors that it gathers tells: its budget pays for no other call':
    WORDS,
  'rejects what was surely refused by everybody, so that its budget pays for the next call': WORDS,
  'confirms what succeeded after its caller had left':
    'a server of either SDK does not answer what was cancelled, so that it is left',
  'leaves open what was cut off because its caller left': STILL_OPEN,
  'leaves open what never ends after its caller has left': STILL_OPEN,
}

/** What a gate is not told, by where it is placed. */
const CANNOT_SHOW: Readonly<Record<Placement, Readonly<Record<string, string>>>> = {
  server: {
    'leaves open what never ends after its caller has left':
      'a tool is settled when it ends, so that nothing is told of one that never does: its decision expires',
  },
  transport: IN_TRANSPORT,
  proxy: {
    ...IN_TRANSPORT,
    'confirms what the action really cost': 'a server behind a proxy says nothing about that',
  },
}

const CANNOT_PAUSE = {
  'runs what pauses itself twice to its end once, by one decision, and settles it by its end alone':
    'a tool of the protocol of 2025 asks its client while it runs',
}

/** A server of the SDK 1.x, which speaks the protocol of 2025. */
export function gatedServersV1(placement: 'server' | 'transport'): EnforcementAdapter {
  const connect: Connect = async (tool, options) => {
    const server = new McpServer(IMPLEMENTATION)
    server.registerTool('act', TOOL, (args, { _meta }) => tool(args as Args, String(_meta?.[CALL])) as never)
    server.registerResource('any', new ResourceTemplate('hr://{name}', { list: undefined }), {}, (uri, _, { _meta }) =>
      contentsOf(tool, uri, String(_meta?.[CALL])),
    )
    const [near, far] = InMemoryTransport.createLinkedPair()
    if (placement === 'server') await gate(server, options).connect(far)
    else await server.connect(gateTransport(far, options))
    const client = new Client(IMPLEMENTATION)
    await client.connect(near)
    return {
      callTool(params, signal) {
        return client.callTool(params, undefined, { timeout: PATIENCE_MS, ...(signal && { signal }) })
      },
      readResource: (params) => client.readResource(params),
      close: () => client.close(),
    }
  }
  return adapter(`a ${placement} of the SDK 1.x`, connect, { ...CANNOT_SHOW[placement], ...CANNOT_PAUSE })
}

/** A server of the SDK 1.x behind the proxy, over HTTP. */
export function proxiedServers(): EnforcementAdapter {
  const connect: Connect = async (tool, options) => {
    const make = () => {
      const server = new McpServer(IMPLEMENTATION)
      server.registerTool('act', TOOL, (args, { _meta }) => tool(args as Args, String(_meta?.[CALL])) as never)
      server.registerResource(
        'any',
        new ResourceTemplate('hr://{name}', { list: undefined }),
        {},
        (uri, _, { _meta }) => contentsOf(tool, uri, String(_meta?.[CALL])),
      )
      return server as unknown as HighLevelServer
    }
    const upstream = await serveSessions(SDKS[0] as Sdk, make, { isStoppedByCaller: true })
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
    const listen = { host: '127.0.0.1', port: 0 }
    const proxy = await startHttpProxy({ listen, upstream: upstream.url, config: {}, gate: options, log })
    const client = new Client(IMPLEMENTATION)
    const transport = new StreamableHTTPClientTransport(new URL(proxy.url))
    const send = transport.send.bind(transport)
    const waiting: (() => void)[] = []
    transport.send = async (message, sending) => {
      await send(message, sending)
      if ('method' in message && message.method === 'notifications/cancelled')
        for (const told of waiting.splice(0)) told()
    }
    await client.connect(transport)
    return {
      callTool(params, signal) {
        return client.callTool(params, undefined, { timeout: PATIENCE_MS, ...(signal && { signal }) })
      },
      readResource: (params) => client.readResource(params),
      onCancelled: (told) => waiting.push(told),
      async close() {
        await client.close()
        await upstream.stop()
        await proxy.close()
      },
    }
  }
  return adapter('the proxy over HTTP', connect, { ...CANNOT_SHOW.proxy, ...CANNOT_PAUSE })
}

/** A server of the SDK 2.x, which speaks the protocol of 2026-07-28. */
export function gatedServersV2(placement: 'server' | 'transport'): EnforcementAdapter {
  const connect: Connect = async (tool, options) => {
    const [near, far] = InMemoryV2.createLinkedPair()
    const serve = () => {
      const server = new McpServerV2(IMPLEMENTATION)
      server.registerTool('act', TOOL, (args, { mcpReq }) => {
        return tool(args as Args, String(mcpReq._meta?.[CALL]), mcpReq.requestState()) as never
      })
      server.registerResource(
        'any',
        new ResourceTemplateV2('hr://{name}', { list: undefined }),
        {},
        (uri, _, { mcpReq }) => contentsOf(tool, uri, String(mcpReq._meta?.[CALL])),
      )
      return placement === 'server' ? gate(server, options) : server
    }
    const handle = serveStdio(serve, { transport: placement === 'server' ? far : gateTransport(far, options) })
    const client = new ClientV2(IMPLEMENTATION, {
      versionNegotiation: { mode: 'auto' },
      capabilities: { elicitation: {} },
      inputRequired: { autoFulfill: false },
    })
    await client.connect(near)
    return {
      callTool(params, signal) {
        return client.callTool(params, { timeout: PATIENCE_MS, allowInputRequired: true, ...(signal && { signal }) })
      },
      readResource: (params) => client.readResource(params),
      async close() {
        await client.close()
        await handle.close()
      },
    }
  }
  return adapter(`a ${placement} of the SDK 2.x`, connect, CANNOT_SHOW[placement])
}

/** The calls of one client in progress. */
class Calls {
  readonly #all = new Map<string, GuardedCall>()
  /** What the tool has thrown. */
  readonly errors = new Map<string, Error>()
  /** By thread: what the client has to send with the next leg of the same call. */
  readonly states = new Map<string, string>()

  add(call: GuardedCall): string {
    const id = crypto.randomUUID()
    this.#all.set(id, call)
    return id
  }

  of({ meta }: Pick<GatedCall, 'meta'>): GuardedCall {
    return this.#all.get(String(meta[CALL])) as GuardedCall
  }
}

type Connect = (tool: Tool, options: GateOptions) => Promise<Connection>

function adapter(name: string, connect: Connect, doesNotApply: Readonly<Record<string, string>>): EnforcementAdapter {
  return {
    name,
    doesNotApply,
    async open({ baseUrl, apiKey, act, options: { review, ...rest } }) {
      const client = new Countersign({ baseUrl, apiKey, timeoutMs: 60_000, connectTimeoutMs: 60_000 })
      const calls = new Calls()
      const options: GateOptions = {
        client,
        ...rest,
        review: review === 'wait' ? 'wait' : 'pending',
        agentId: (call) => calls.of(call).agent_id,
        idempotencyKey: (call) => calls.of(call).idempotencyKey,
        methods: {
          'resources/read': (_args, call) => {
            const { action, context } = calls.of(call)
            return { action, context }
          },
        },
        map: { act: (args, call) => mapped(args as unknown as Args, calls.of(call)) },
      }
      const connection = await connect(toolOf(act, calls), options)
      return {
        call: (call) => callBy(connection, calls, call),
        read: (call) => readBy(connection, calls, call),
        flush: (timeoutMs) => client.flush({ timeoutMs }),
        async close() {
          await connection.close()
          client.close()
        },
      }
    },
  }
}

function mapped({ resource, context }: Args, { mapping, action }: GuardedCall): MappedCall {
  if (mapping === 'throws') throw new Error('there is no such order')
  const named = mapping === 'misspelt' ? `order:${(context as { ordr?: string }).ordr}` : resource
  return { action: mapping === 'unmapped' ? undefined : action, resource: named, context }
}

/** Asks its caller to go on where the action pauses: each leg gets past one pause more. */
class Paused {
  readonly passes: number

  constructor(passes: number) {
    this.passes = passes
  }
}

function toolOf(act: Act, calls: Calls): Tool {
  return async (args, callId, requestState) => {
    let pauses = 0
    const pause = (): void => {
      if (pauses === Number(requestState ?? 0)) throw new Paused(pauses + 1)
      pauses += 1
    }
    try {
      const { value, amount } = await act(args, pause)
      if (amount !== undefined) currentRun()?.setAmount(amount)
      const content = [{ type: 'text', text: JSON.stringify(value) }]
      return saysFailure(value) ? { content, isError: true } : { content }
    } catch (error) {
      if (error instanceof Paused) return { ...GO_ON, requestState: String(error.passes) }
      calls.errors.set(callId, error as Error)
      throw error
    }
  }
}

const GO_ON = inputRequired({
  inputRequests: {
    go: inputRequired.elicit({ message: 'Go on?', requestedSchema: { type: 'object', properties: {} } }),
  },
})

async function callBy(
  { callTool, onCancelled = setImmediate }: Connection,
  calls: Calls,
  call: GuardedCall,
): Promise<CallOutcome> {
  const { resource, thread, signal, onArguments, onLeft } = call
  const id = calls.add(call)
  const context = structuredClone(call.context)
  // In memory nothing is copied: the server's own request holds the same object.
  onArguments(context)
  // The client tells the server at once.
  signal?.addEventListener('abort', () => void onCancelled(onLeft))
  const requestState = thread === undefined ? undefined : calls.states.get(thread)
  const answers = { inputResponses: { go: { action: 'accept', content: {} } }, requestState }
  try {
    const result = await callTool(
      { name: 'act', arguments: { resource, context }, _meta: { [CALL]: id }, ...(requestState && answers) },
      signal,
    )
    if (result.resultType === 'input_required') {
      calls.states.set(thread ?? '', String(result.requestState))
      return { kind: 'paused' }
    }
    return outcomeOf(result, calls.errors.get(id))
  } catch (error) {
    return signal?.aborted ? { kind: 'aborted' } : { kind: 'failed', error, shown: String(error) }
  }
}

/** What the suite's action gives back, as the text of a resource. */
async function contentsOf(tool: Tool, { href }: URL, callId: string) {
  const { content } = await tool({ resource: href, context: {} }, callId)
  const [{ text }] = content as [{ text: string }]
  return { contents: [{ uri: href, text }] }
}

async function readBy({ readResource }: Connection, calls: Calls, call: GuardedCall): Promise<CallOutcome> {
  try {
    const result = await readResource({ uri: call.resource, _meta: { [CALL]: calls.add(call) } })
    const [{ text }] = Object(result).contents as [{ text: string }]
    return { kind: 'value', value: JSON.parse(text), shown: JSON.stringify(result) }
  } catch (error) {
    const { id, reason } = Object(Object(Object(error).data)['countersign/decision'])
    const shown = `${error} ${JSON.stringify(Object(error).data)}`
    return reason === undefined ? { kind: 'failed', error, shown } : { kind: 'denied', reason, decision_id: id, shown }
  }
}

/** @param error what the tool threw, whose message has to be all of the result */
function outcomeOf(result: Result, error: Error | undefined): CallOutcome {
  const shown = JSON.stringify(result)
  const [{ text }] = result.content as [{ text: string }]
  const { id, reason } = Object(Object(result._meta)['countersign/decision'])
  if (reason !== undefined) return { kind: 'denied', reason, decision_id: id, shown }
  if (error !== undefined && result.isError === true && text === error.message) return { kind: 'failed', error, shown }
  return { kind: 'value', value: JSON.parse(text), shown }
}
