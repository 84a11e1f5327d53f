/**
 * An MCP server that notes in the file NOTES what it does: its process, its runs, and what it was told of its callers. On
 * standard input and output, or over HTTP on the port that is its argument.
 */
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

const { NOTES } = process.env
const note = (...words) => appendFileSync(NOTES, `${words.join(' ')}\n`)
const text = (value) => ({ content: [{ type: 'text', text: value }] })

function newServer() {
  const server = new McpServer({ name: 'noting', version: '1.0.0' })
  server.registerTool('pay', { inputSchema: z.object({ order: z.number() }) }, ({ order }) => {
    note('pay', order)
    return text(`paid ${order}`)
  })
  server.registerTool('big', { inputSchema: z.object({ bytes: z.number() }) }, ({ bytes }) => text('x'.repeat(bytes)))
  // Until the file is there that lets it go on.
  server.registerTool('slow', {}, async () => {
    note('slow begins')
    while (!existsSync(`${NOTES}.go`)) await new Promise((resolve) => setTimeout(resolve, 20))
    note('slow ends')
    return text('slow')
  })
  return server
}

note('pid', process.pid)
if (process.argv[2] === 'http') serveHttp()
else await newServer().connect(new StdioServerTransport())

function serveHttp() {
  const sessions = new Map()
  const server = createServer(async (req, res) => {
    note('headers', JSON.stringify(req.headers))
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
  server.listen(0, '127.0.0.1', () => console.error(`http://127.0.0.1:${server.address().port}/mcp`))
}
