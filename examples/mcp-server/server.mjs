/** A gated server on standard input and output, with @modelcontextprotocol/sdk 1.x. Its agent is COUNTERSIGN_AGENT_ID. */
import { Countersign } from '@countersign/client'
import { gate } from '@countersign/mcp'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { map, resources, withTools } from './shop.mjs'

const client = new Countersign()
const server = gate(new McpServer({ name: 'shop', version: '1.0.0' }), { client, map, resources })
await withTools(server).connect(new StdioServerTransport())
