/** How each kind of program requests its first decision. A test runs every snippet. */

/** Reads a pasted key without showing it on the screen or leaving it in the shell's history. */
export const READ_KEY = 'read -rs COUNTERSIGN_API_KEY && export COUNTERSIGN_API_KEY'

export interface Snippet {
  readonly name: string
  /** Installs what the program needs; null for nothing. */
  readonly install: string | null
  /** The name of the file with the code; null for a command. */
  readonly file: string | null
  readonly code: string
  /** The command that runs the file, and those that follow in another terminal. */
  readonly run: readonly string[]
}

/** Runs in a checkout beside the project. */
const PACK = '(cd ../countersign && npm run pack)'

/** @param url the URL of this server. The key comes from the environment, so that no file contains it. */
export function snippetsFor(url: string): Snippet[] {
  return [curl(url), sdk(url), langchain(url), mcp(url), express(url)]
}

function curl(url: string): Snippet {
  return {
    name: 'curl',
    install: null,
    file: null,
    code: `curl -s ${url}/v1/decisions \\
  -H "Authorization: Bearer $COUNTERSIGN_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{
    "agent_id": "agent:support-7",
    "action": "payment.refund",
    "resource": "order:8812",
    "context": {"amount": 42.5}
  }'`,
    run: [],
  }
}

function sdk(url: string): Snippet {
  return {
    name: 'TypeScript SDK',
    install: `${PACK}
npm install ../countersign/dist-packages/countersign-client-*.tgz`,
    file: 'ask.mjs',
    code: `import { Countersign, isPermitted } from '@countersign/client'

// The key is in COUNTERSIGN_API_KEY.
const client = new Countersign({ baseUrl: '${url}' })

const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }
const decision = await client.authorize({ ...asked, context: { amount: 42.5 } })
if (isPermitted(decision, asked)) console.log('The refund may run.')
else console.log(decision.effect, decision.reason)
`,
    run: ['node ask.mjs'],
  }
}

function langchain(url: string): Snippet {
  return {
    name: 'LangChain',
    install: `${PACK}
npm install --save-exact ../countersign/dist-packages/countersign-{client,langchain}-*.tgz \\
  langchain@1.5.14 @langchain/core@1.2.13 @langchain/langgraph@1.4.13 zod`,
    file: 'agent.mjs',
    code: `import { Countersign } from '@countersign/client'
import { countersignGuard } from '@countersign/langchain'
import { fakeModel } from '@langchain/core/testing'
import { AIMessage, createAgent, tool } from 'langchain'
import { z } from 'zod'

// The key is in COUNTERSIGN_API_KEY.
const client = new Countersign({ baseUrl: '${url}' })

const refund = tool(({ order, amount }) => \`Refunded \${amount} for \${order}.\`, {
  name: 'refund',
  description: 'Pays money back for an order.',
  schema: z.object({ order: z.string(), amount: z.number() }),
})

// Every tool of the agent is guarded. A tool that is not in the map is denied.
const guard = countersignGuard({
  client,
  agentId: 'agent:support-7',
  map: {
    refund: {
      action: 'payment.refund',
      resource: ({ order }) => \`order:\${order}\`,
      context: ({ amount }) => ({ amount }),
    },
  },
})

// A model for tests, which makes this one call. Yours goes here: model: 'anthropic:claude-…'
const model = fakeModel()
  .respondWithTools([{ name: 'refund', args: { order: '8812', amount: 42.5 }, id: 'call_1' }])
  .respond(new AIMessage('Done.'))

const agent = createAgent({ model, tools: [refund], middleware: [guard] })
const { messages } = await agent.invoke({ messages: 'Refund 42.50 for order 8812.' })
for (const message of messages.slice(2)) console.log(message.text)
`,
    run: ['node agent.mjs'],
  }
}

function mcp(url: string): Snippet {
  return {
    name: 'MCP',
    install: `${PACK}
npm install ../countersign/dist-packages/countersign-{client,mcp}-*.tgz @modelcontextprotocol/sdk zod`,
    file: 'server.mjs',
    code: `import { Countersign } from '@countersign/client'
import { gate } from '@countersign/mcp'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'

// The key is in COUNTERSIGN_API_KEY.
const client = new Countersign({ baseUrl: '${url}', agentId: 'agent:support-7' })

// Every tool of the server is gated. A tool that is not in the map is denied.
const server = gate(new McpServer({ name: 'shop', version: '1.0.0' }), {
  client,
  map: {
    refund: {
      action: 'payment.refund',
      resource: ({ order }) => \`order:\${order}\`,
      context: ({ amount }) => ({ amount }),
    },
  },
})
server.registerTool(
  'refund',
  { description: 'Pays money back for an order.', inputSchema: { order: z.string(), amount: z.number() } },
  ({ order, amount }) => ({ content: [{ type: 'text', text: \`Refunded \${amount} for \${order}.\` }] }),
)

// An agent in the same process makes one call. Yours goes here: await server.connect(new StdioServerTransport())
const [near, far] = InMemoryTransport.createLinkedPair()
await server.connect(far)
const agent = new Client({ name: 'agent', version: '1.0.0' })
await agent.connect(near)
const { content } = await agent.callTool({ name: 'refund', arguments: { order: '8812', amount: 42.5 } })
console.log(content[0].text)
`,
    run: ['node server.mjs'],
  }
}

function express(url: string): Snippet {
  return {
    name: 'Express',
    install: `${PACK}
npm install ../countersign/dist-packages/countersign-{contract,permit,client,express}-*.tgz express`,
    file: 'app.mjs',
    code: `import { Countersign } from '@countersign/client'
import { guard, permitErrors } from '@countersign/express'
import express from 'express'

// The key is in COUNTERSIGN_API_KEY.
const client = new Countersign({ baseUrl: '${url}' })

const refund = guard(
  {
    client,
    agent_id: 'agent:support-7', // default: the agent of a verified access token, in req.auth
    action: 'payment.refund',
    resource: 'order:{params.id}',
    context: (req) => ({ amount: req.body.amount }),
  },
  (req, res) => {
    res.json({ refunded: req.params.id, decision: req.permit.decision.id })
  },
)

const app = express()
app.use(express.json()) // parsers come before guards
app.post('/refunds/:id', refund)
app.use(permitErrors()) // after the routes

app.listen(3000, () => console.log('http://localhost:3000'))
`,
    run: [
      'node app.mjs',
      `curl -s http://localhost:3000/refunds/8812 -H 'content-type: application/json' -d '{"amount": 42.5}'`,
    ],
  }
}
