/**
 * A newcomer's app with one mistake in it, the one that is named on the command line. Calls its own route, or the service
 * behind it, and prints what the caller is answered.
 */
import { once } from 'node:events'
import { Countersign } from '@countersign/client'
import { guard, permitErrors, requirePermit } from '@countersign/express'
import express from 'express'

const [mistake = 'none'] = process.argv.slice(2)
const is = (name) => mistake === name
const client = new Countersign()
const issuer = process.env.COUNTERSIGN_URL

const amountOf = is('no body parser, and careful') ? (req) => req.body?.amount : (req) => req.body.amount
const does = {
  action: is('malformed action') ? 'order refund' : 'order.refund',
  resource: (req) => `order:${req.params.id}`,
  context: (req) => ({ amount: amountOf(req) }),
}
const mayRefund = guard({ client, agent_id: 'agent:shop-1', ...does })
const mayBook = requirePermit({
  issuer: is('wrong issuer') ? `${issuer}/` : issuer,
  audience: issuer,
  jwks: is('wrong key set') ? `${issuer}/jwks.json` : `${issuer}/.well-known/jwks.json`,
  ...does,
})

const app = express()
if (!mistake.startsWith('no body parser')) app.use(express.json())
if (is('guard twice')) app.use('/refunds/:id', mayRefund)
app.post('/refunds/:id', mayRefund, (_req, res) => void res.json({ refunded: true }))
app.post('/bookings/:id', mayBook, (_req, res) => void res.json({ booked: true }))
if (!is('forgotten permitErrors')) app.use(permitErrors())

const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const isBooking = ['wrong issuer', 'wrong key set', 'clock 10 min behind', 'none'].includes(mistake)
const amount = is('guard twice') ? 60 : is('forgotten permitErrors') ? 5000 : 10
const headers = { 'content-type': 'application/json' }
if (isBooking) {
  const asked = { agent_id: 'agent:shop-1', action: 'order.refund', resource: 'order:17', context: { amount } }
  headers.authorization = `Bearer ${(await client.authorize(asked)).permit_token}`
}
for (const path of mistake === 'none'
  ? ['/refunds/17', '/bookings/17']
  : [isBooking ? '/bookings/17' : '/refunds/17']) {
  const url = `http://127.0.0.1:${server.address().port}${path}`
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ amount }) })
  console.log(
    JSON.stringify({ status: answer.status, type: answer.headers.get('content-type'), body: await answer.text() }),
  )
}
server.close()
