/** What is published: packed as npm does it, then used as somebody would who has one SDK, or none, and a strict project of his own. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Operator, startDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileIn, installIn, packInto, projectWith } from '../../../scripts/clean-project.js'

const run = promisify(execFile)

const PACKED = ['integrations/mcp', 'packages/client', 'packages/contract']
/** What npm installs along with them. */
const DEPENDENCIES = ['canonicalize', 'commander', 'eventsource-parser', 'zod', '@types/node']

/** The same words for both majors, but for what they call it. */
const CONSUMER = `
import { Countersign } from '@countersign/client'
import { currentRun, definitionHash, gate, gateTransport, type GateOptions, type GatedCall, type ShownDecisionOfCall, type ToolMapping } from '@countersign/mcp'
import { z } from 'zod'

const client = new Countersign({ apiKey: 'k' })
const refund: ToolMapping = {
  action: 'payment.refund',
  resource: (args) => \`order:\${args.order}\`,
  context: ({ amount }) => ({ amount }),
}
const options: GateOptions = {
  client,
  agentId: ({ authInfo, sessionId, meta }: GatedCall) => authInfo?.clientId ?? \`agent:\${sessionId ?? String(meta['com.example/agent'])}\`,
  map: {
    refund,
    search: 'order.search',
    close: (args, { name, authInfo }) => ({ action: \`shop.\${name}\`, resource: null, context: { by: authInfo?.clientId ?? '' } }),
    typed: (args: { order: string }) => ({ action: 'a.b', resource: args.order.trim() }),
  },
  unmapped: 'map',
  list: 'hide',
  definitions: { refund: definitionHash({ name: 'refund', inputSchema: { type: 'object' } }) },
  review: 'elicit',
  reviewer: new Countersign({ apiKey: 'r' }),
  stateKey: new Uint8Array(32),
  denyAs: 'error',
  idempotencyKey: ({ meta }) => String(meta['com.example/call']),
  settleOn: (outcome) => (outcome.kind === 'failed' ? { settle: 'leave' } : undefined),
  onEvent: (event) => event.type satisfies string,
}

// A gated server is the server, and a gated transport is the transport.
const server: McpServer = gate(new McpServer({ name: 's', version: '1' }), options)
server.registerTool('refund', { inputSchema: z.object({ order: z.string(), amount: z.number() }) }, async ({ order, amount }) => {
  currentRun()?.setAmount(amount)
  return { content: [{ type: 'text', text: order }] }
})
gate(new Server({ name: 's', version: '1' }), { client, map: { refund: 'payment.refund' } })
const transport: StdioServerTransport = gateTransport(new StdioServerTransport(), options)
await server.connect(transport)
await server.connect(gateTransport(httpTransport, { client }))

const shown: ShownDecisionOfCall = { id: null, effect: 'deny', reason: 'unmapped' }
console.log(shown)

// @ts-expect-error there is no way to let an error through
gate(server, { client, onUnavailable: 'allow' })
// @ts-expect-error an option that does not exist
gate(server, { client, failMode: 'open' })
// @ts-expect-error a way to review that does not exist
gate(server, { client, review: 'approve' })
// @ts-expect-error a mapping gives what is asked, and not who asks
gate(server, { client, map: { refund: { action: 'payment.refund', agent_id: 'agent:a' } } })
// @ts-expect-error a client is needed
gateTransport(transport, { map: { refund: 'payment.refund' } })
// @ts-expect-error this is no server
gate({}, { client })
// @ts-expect-error this is no transport
gateTransport(server, { client })
`

const SDKS = {
  '@modelcontextprotocol/sdk': `
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
const httpTransport = new WebStandardStreamableHTTPServerTransport()
`,
  '@modelcontextprotocol/server': `
import { createMcpHandler, McpServer, Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
const httpTransport = new WebStandardStreamableHTTPServerTransport()
createMcpHandler(() => gate(new McpServer({ name: 's', version: '1' }), options))
`,
} as const

describe('with neither SDK', () => {
  let project: string
  let installed: string
  beforeAll(async () => {
    project = await projectWith(PACKED, DEPENDENCIES)
    installed = join(project, 'node_modules', '@countersign', 'mcp')
  }, 120_000)
  afterAll(() => rm(project, { recursive: true, force: true }))

  it('asks for the client as its user has it, and for an SDK where one is used', async () => {
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(
      await readFile(join(installed, 'package.json'), 'utf8'),
    )
    expect(Object.keys(peerDependencies)).toEqual(['@countersign/client', ...Object.keys(SDKS)])
    expect(Object.keys(peerDependenciesMeta)).toEqual(Object.keys(SDKS))
  })

  it('holds no tests and no build leftovers', async () => {
    const files = await readdir(installed, { recursive: true })
    expect(files.filter((name) => /\.test\.|tsbuildinfo|^test/.test(name))).toEqual([])
    expect(files).toEqual(
      expect.arrayContaining([
        'README.md',
        'dist/index.js',
        'dist/index.d.ts',
        'dist/cli.js',
        'bin/countersign-mcp.js',
      ]),
    )
  })

  it('exports this and nothing else, and loads no SDK', async () => {
    const script = "console.log(Object.keys(await import('@countersign/mcp')).sort().join())"
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: project })
    expect(stdout.trim()).toBe('currentRun,definitionHash,gate,gateTransport')
  })

  it('has declarations that need none', async () => {
    const program = `
      import { gateTransport, type GateableTransport, type GateOptions } from '@countersign/mcp'
      export const gated = (transport: GateableTransport, options: GateOptions) => gateTransport(transport, options)
    `
    expect(await compileIn(project, program, { skipLibCheck: false })).toBe('')
  }, 120_000)
})

describe.each(Object.entries(SDKS))('with %s alone', (sdk, imports) => {
  let project: string
  beforeAll(async () => {
    project = await projectWith(PACKED, [...DEPENDENCIES, sdk])
  }, 120_000)
  afterAll(() => rm(project, { recursive: true, force: true }))

  it('is typed in a strict project, with exact optional members', async () => {
    const options = { skipLibCheck: true, exactOptionalPropertyTypes: true }
    expect(await compileIn(project, `${imports}${CONSUMER}`, options)).toBe('')
  }, 120_000)
})

describe('countersign-mcp, installed from its tarball', () => {
  let project: string
  let point: Awaited<ReturnType<typeof startDecisionPoint>>
  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'countersign-mcp-'))
    await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }')
    const tarballs = await Promise.all(PACKED.map((from) => packInto(join(project, 'tarballs'), from)))
    const others = [...DEPENDENCIES, '@modelcontextprotocol/server']
    await installIn(project, `npm install ${[...others, ...tarballs].join(' ')}`)
    point = await startDecisionPoint()
  }, 120_000)
  afterAll(async () => {
    await point.stop()
    await rm(project, { recursive: true, force: true })
  })

  const command = (): string => join(project, 'node_modules', '.bin', 'countersign-mcp')

  it('says which version it is, and what it can do', async () => {
    const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'))
    expect((await run(command(), ['--version'])).stdout.trim()).toBe(version)
    expect((await run(command(), ['--help'])).stdout).toContain('countersign-mcp [options] -- command [arguments]')
  })

  it('stands in front of a server', async () => {
    await writeFile(join(project, 'server.mjs'), SERVER)
    const tools = {
      open: { action: 'door.open', resource: 'door:{door}' },
      lock: { action: 'door.lock', resource: null },
    }
    await writeFile(join(project, 'countersign-mcp.json'), JSON.stringify({ agent_id: 'agent:porter', tools }))
    const operator = new Operator(point)
    await operator.makePolicy('door.open', 'allow')
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(
      new StdioClientTransport({
        command: command(),
        args: ['--', process.execPath, 'server.mjs'],
        cwd: project,
        env: { COUNTERSIGN_URL: point.url, COUNTERSIGN_API_KEY: await operator.makeKey() },
      }),
    )
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['open', 'lock'])
      const opened = await client.callTool({ name: 'open', arguments: { door: 'front' } })
      expect(opened).toMatchObject({
        content: [{ text: 'opened front' }],
        _meta: { 'countersign/decision': { effect: 'allow' } },
      })
      const locked = await client.callTool({ name: 'lock', arguments: { door: 'front' } })
      expect(locked).toMatchObject({ isError: true, _meta: { 'countersign/decision': { reason: 'denied' } } })
    } finally {
      await client.close()
    }
  })
})

const SERVER = `
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

serveStdio(() => {
  const server = new McpServer({ name: 'doors', version: '1' })
  for (const [name, done] of [['open', 'opened'], ['lock', 'locked']])
    server.registerTool(name, { inputSchema: z.object({ door: z.string() }) }, ({ door }) => ({
      content: [{ type: 'text', text: done + ' ' + door }],
    }))
  return server
})
`
