/** The tools of a shop, for a server of either SDK, and what each of them is about. The environment says which file is the BANK. */
import { appendFileSync } from 'node:fs'
import { z } from 'zod'

const { BANK } = process.env

const PAID = { 8812: 42.5, 8813: 400, 8814: 90 }

/** For `gate`: a tool that is not in here is denied. */
export const map = {
  find_order: { action: 'order.search', resource: ({ order }) => `order:${order}` },
  refund: {
    action: 'payment.refund',
    resource: ({ order }) => `order:${order}`,
    context: ({ amount }) => ({ amount, currency: 'EUR' }),
  },
}

/** The same for resources, by their URIs. */
export const resources = { 'shop://hours': 'hours.read' }

export function withTools(server) {
  const texts = { hours: 'Open from 9 to 5.', takings: '42.50 today' }
  for (const [name, text] of Object.entries(texts))
    server.registerResource(name, `shop://${name}`, {}, ({ href }) => ({ contents: [{ uri: href, text }] }))
  server.registerTool(
    'find_order',
    { description: 'Looks an order up.', inputSchema: z.object({ order: z.string() }) },
    ({ order }) => saying(order in PAID ? `paid ${PAID[order].toFixed(2)}` : 'unknown'),
  )
  server.registerTool(
    'refund',
    {
      description: 'Pays money back for an order.',
      inputSchema: z.object({ order: z.string(), amount: z.number().positive() }),
    },
    ({ order, amount }) => {
      appendFileSync(BANK, `order:${order} ${amount.toFixed(2)}\n`)
      return saying(`refunded ${amount.toFixed(2)}`)
    },
  )
  server.registerTool('close_shop', { description: 'Closes the shop for good.', inputSchema: z.object({}) }, () => {
    appendFileSync(BANK, 'closed\n')
    return saying('closed')
  })
  return server
}

function saying(text) {
  return { content: [{ type: 'text', text }] }
}
