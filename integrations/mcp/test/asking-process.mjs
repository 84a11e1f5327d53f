/** One leg of a call in a process of its own: a server, its client, what that brings back, and the result on stdout. */
import { Countersign } from '@countersign/client'
import { gate } from '@countersign/mcp'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

const { baseUrl, apiKey, reviewerKey, agentId, stateKey, brought } = JSON.parse(process.env.LEG)
const client = new Countersign({ baseUrl, apiKey, agentId, timeoutMs: 20_000, connectTimeoutMs: 20_000 })
const reviewer = new Countersign({ baseUrl, apiKey: reviewerKey, timeoutMs: 20_000, connectTimeoutMs: 20_000 })
const info = { name: 'asking-process', version: '1.0.0' }
const runs = []
const options = { client, review: 'elicit', reviewer, stateKey, map: { review: 't.review' } }

const handler = createMcpHandler(() => {
  const server = new McpServer(info)
  server.registerTool('review', { inputSchema: z.object({ n: z.number() }) }, ({ n }, { mcpReq }) => {
    const account = mcpReq.inputResponses?.account?.content?.account
    runs.push([n, mcpReq.requestState() ?? null, account ?? null])
    if (account !== undefined) return { content: [{ type: 'text', text: `paid ${n} from ${account}` }] }
    const requestedSchema = { type: 'object', properties: { account: { type: 'string' } } }
    const inputRequests = { account: inputRequired.elicit({ message: 'Which account?', requestedSchema }) }
    return inputRequired({ inputRequests, requestState: 'state of the tool' })
  })
  return gate(server, options)
})
const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), {
  fetch: (url, init) => handler.fetch(new Request(url, init)),
})
const asking = new Client(info, { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } })
await asking.connect(transport)
const params = { name: 'review', arguments: { n: 1 }, ...brought }
const result = await asking.callTool(params, { allowInputRequired: true })
await client.flush()
await asking.close()
await handler.close()
process.stdout.write(JSON.stringify({ result, runs }))
