/**
 * The same tools over HTTP, with @modelcontextprotocol/server 2.x: a server for each request, and the agent is the one that has
 * authenticated. TOKENS says in JSON which bearer token is which agent. Prints its URL.
 */
import { createServer } from 'node:http'
import { Countersign } from '@countersign/client'
import { gate } from '@countersign/mcp'
import { localhostHostValidation, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { map, resources, withTools } from './shop.mjs'

// Made once: what servers of the same options know, they share.
const options = { client: new Countersign(), map, resources }
const handler = createMcpHandler(() => gate(withTools(new McpServer({ name: 'shop', version: '2.0.0' })), options))

const agents = new Map(Object.entries(JSON.parse(process.env.TOKENS)))
const isOurHost = localhostHostValidation()
const handle = toNodeHandler(handler)

const http = createServer((req, res) => {
  if (!isOurHost(req, res)) return
  const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1]
  const clientId = agents.get(token)
  if (clientId === undefined) return res.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end()
  req.auth = { token, clientId, scopes: [] }
  void handle(req, res)
})
http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`))
// What is queued for the decision point is told before the process ends.
process.once('SIGTERM', () => {
  http.close()
  http.closeAllConnections()
})
