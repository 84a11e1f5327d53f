/** An MCP server whose one tool does nothing: on standard input and output, or over HTTP where it was forked; it tells its `port`. */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

const newServer = () => {
  const server = new McpServer({ name: 'no-op', version: '1.0.0' })
  const inputSchema = z.object({ order: z.string(), amount: z.number() })
  server.registerTool('refund', { inputSchema }, () => ({ content: [{ type: 'text', text: 'Refunded.' }] }))
  return server
}

if (process.send === undefined) {
  await newServer().connect(new StdioServerTransport())
} else {
  const sessions = new Map()
  const http = createServer(async (req, res) => {
    let transport = sessions.get(req.headers['mcp-session-id'])
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      })
      await newServer().connect(transport)
    }
    await transport.handleRequest(req, res)
  })
  http.listen(0, '127.0.0.1', () => process.send({ port: http.address().port }))
}
