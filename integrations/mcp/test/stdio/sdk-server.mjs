/** A server of one major of the SDK over stdio, by its first argument. Its tools answer with its process id. */
import { z } from 'zod'

const [major] = process.argv.slice(2)
const say = (text) => ({ content: [{ type: 'text', text }] })
const requestedSchema = { type: 'object', properties: { account: { type: 'string' } }, required: ['account'] }
const INFO = { name: `server of ${major}`, version: '1.0.0' }

function withTools(server) {
  const config = { inputSchema: z.object({}) }
  server.registerTool('pid', config, () => say(String(process.pid)))
  server.registerTool('refused', config, () => say('it ran'))
  return server
}

if (major === 'v1') {
  const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js')
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js')
  const server = withTools(new McpServer(INFO))
  server.registerTool('ask', { inputSchema: z.object({}) }, async (_, { requestId }) => {
    const options = { relatedRequestId: requestId }
    const { content } = await server.server.elicitInput({ message: 'Which account?', requestedSchema }, options)
    return say(`paid by ${content.account}`)
  })
  await server.connect(new StdioServerTransport())
} else {
  const { inputRequired, McpServer } = await import('@modelcontextprotocol/server')
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
  const ask = (_, { mcpReq }) => {
    const account = mcpReq.inputResponses?.account?.content?.account
    if (account !== undefined) return say(`paid by ${account}`)
    return inputRequired({
      inputRequests: { account: inputRequired.elicit({ message: 'Which account?', requestedSchema }) },
      requestState: 'asked',
    })
  }
  serveStdio(() => {
    const server = withTools(new McpServer(INFO))
    server.registerTool('ask', { inputSchema: z.object({}) }, ask)
    return server
  })
}
