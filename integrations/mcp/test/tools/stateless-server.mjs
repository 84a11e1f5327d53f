/** A server of the SDK 2.x that speaks 2026-07-28 and nothing before. */
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const factory = () => {
  const server = new McpServer({ name: 'stateless', version: '1' })
  const read = { description: 'Reads.', inputSchema: z.object({ n: z.number() }), annotations: { readOnlyHint: true } }
  server.registerTool('read', read, () => ({ content: [] }))
  return server
}
serveStdio(factory, { legacy: 'reject' })
