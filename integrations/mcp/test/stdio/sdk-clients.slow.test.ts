/** Clients of both majors of the SDK, which start the proxy as hosts do. The numbers are those of the acceptance cases. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Countersign } from '@countersign/client'
import { type Relay, startRelay, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as TransportV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DECISION_META } from '../../src/calls/result.js'
import { Rig } from '../rig.js'
import type { CallResult } from '../sdks.js'
import { CLI, isAlive } from './proxied-server.js'

const SDK_SERVER = fileURLToPath(new URL('sdk-server.mjs', import.meta.url))
const FILE_SERVER = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'))

const point = useDecisionPoint()
let rig: Rig
let relay: Relay
let env: Record<string, string>
let folder: string
beforeAll(async () => {
  rig = await Rig.open(point())
  relay = await startRelay(point().url)
  folder = mkdtempSync(join(tmpdir(), 'countersign-mcp-'))
  const tool = { action: 't.allow', resource: null }
  const tools = { pid: tool, ask: tool, refused: { action: 't.deny', resource: null } }
  writeFileSync(join(folder, 'gate.json'), JSON.stringify({ agent_id: rig.agentId, tools }))
  env = { PATH: process.env.PATH ?? '', COUNTERSIGN_URL: relay.url, COUNTERSIGN_API_KEY: await rig.operator.makeKey() }
}, 60_000)
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await relay.close()
})

interface AnyClient {
  connect(transport: never): Promise<void>
  close(): Promise<void>
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>
  callTool(call: { readonly name: string; readonly arguments: Record<string, unknown> }): Promise<unknown>
  getServerVersion(): { readonly name: string } | undefined
  getNegotiatedProtocolVersion?(): string | undefined
}

const INFO = { name: 'client', version: '1.0.0' }
const capabilities = { elicitation: {} }
const answer = async () => ({ action: 'accept', content: { account: 'DE1' } }) as const

function clientV1(): AnyClient {
  const client = new ClientV1(INFO, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, answer)
  return client as never
}

function clientV2(mode: 'legacy' | 'auto'): AnyClient {
  const client = new ClientV2(INFO, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', answer)
  return client as never
}

/** @param args of Node */
async function connected(client: AnyClient, args: readonly string[]) {
  const Transport = client instanceof ClientV1 ? TransportV1 : TransportV2
  const transport = new Transport({ command: process.execPath, args: [...args], env })
  await client.connect(transport as never)
  return {
    proxy: transport.pid ?? 0,
    async call(name: string, args: Record<string, unknown> = {}): Promise<CallResult> {
      return (await client.callTool({ name, arguments: args })) as CallResult
    },
  }
}

describe.each<[string, () => AnyClient, Record<string, string>]>([
  ['of the SDK 1.x', clientV1, {}],
  ['of the SDK 2.x', () => clientV2('legacy'), { v1: '2025-11-25', v2: '2025-11-25' }],
  ['of the SDK 2.x that asks for 2026-07-28', () => clientV2('auto'), { v1: '2025-11-25', v2: '2026-07-28' }],
])('a client %s', (_, open, protocols) => {
  it.each(['v1', 'v2'])('42, 43, 50: works before a server of the SDK %s, and ends with it', async (major) => {
    const client = open()
    const config = ['--config', join(folder, 'gate.json'), '--list', 'hide']
    const { proxy, call } = await connected(client, [CLI, ...config, '--', process.execPath, SDK_SERVER, major])
    expect(client.getServerVersion()?.name).toBe(`server of ${major}`)
    expect(client.getNegotiatedProtocolVersion?.()).toBe(protocols[major])
    expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual(['ask', 'pid'])
    const pid = Number((await call('pid')).content[0]?.text)
    expect(await call('refused')).toMatchObject({ isError: true })

    const asked = relay.decisions.length
    expect(await call('ask')).toMatchObject({ content: [{ text: 'paid by DE1' }] })
    expect(relay.decisions.slice(asked)).toHaveLength(1)
    expect((await rig.operator.decision(relay.decisions.at(-1)?.id ?? '')).status).toBe('confirmed')

    expect([proxy, pid].map(isAlive)).toEqual([true, true])
    await client.close()
    await expect.poll(() => [proxy, pid].map(isAlive)).toEqual([false, false])
  })
})

describe('a server of files of which one folder may be read', () => {
  it('reads nothing else, however the path is written', async () => {
    const [open, secret] = ['open', 'secret'].map((name) => join(folder, name)) as [string, string]
    for (const [path, text] of Object.entries({ [open]: 'for all', [secret]: 'for nobody' })) {
      mkdirSync(path)
      writeFileSync(join(path, 'a.txt'), text)
    }
    const { url: baseUrl, apiKey } = point()
    const rules = [{ action: 'fs.read', resource: `file:${open}/*`, effect: 'allow' }] as const
    await new Countersign({ baseUrl, apiKey }).policies.create({ name: 'reading in one folder', rules })
    const tools = { read_text_file: { action: 'fs.read', resource: 'file:{path}' } }
    writeFileSync(join(folder, 'files.json'), JSON.stringify({ agent_id: rig.agentId, tools }))
    const server = [process.execPath, FILE_SERVER, folder]

    const [direct, proxied] = [clientV1(), clientV1()]
    const without = await connected(direct, server.slice(1))
    const { call } = await connected(proxied, [CLI, '--config', join(folder, 'files.json'), '--', ...server])
    expect(await call('read_text_file', { path: join(open, 'a.txt') })).toMatchObject({
      content: [{ text: 'for all' }],
    })
    const ways = [
      `${secret}/a.txt`,
      `${open}/../secret/a.txt`,
      `${open}/./../secret/a.txt`,
      `${open}/x/../../secret/a.txt`,
      `${open}//../secret/a.txt`,
    ]
    for (const path of ways) {
      expect.soft(await without.call('read_text_file', { path })).toMatchObject({ content: [{ text: 'for nobody' }] })
      expect
        .soft(await call('read_text_file', { path }))
        .toMatchObject({ isError: true, _meta: { [DECISION_META]: {} } })
    }
    await direct.close()
    await proxied.close()
  })
})
