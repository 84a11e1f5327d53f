/** One of two services of one API key: pays, or forwards the call with its Idempotency-Key to the service in NEXT. */
import { Countersign } from '@countersign/client'
import { guard, permitErrors } from '@countersign/express'
import express from 'express'

const { NEXT, SCOPE } = process.env
const mayPay = guard({
  client: new Countersign(),
  agent_id: 'agent:a',
  action: 'payment.create',
  resource: (req) => `order:${req.params.id}`,
  ...(SCOPE && { scope: SCOPE }),
})
const app = express()
app.post('/payments/:id', mayPay, async (req, res) => {
  if (NEXT === undefined) return res.json({ paid: req.params.id })
  const headers = { 'idempotency-key': req.get('idempotency-key') }
  const answer = await fetch(`${NEXT}${req.originalUrl}`, { method: 'POST', headers })
  res.status(answer.status).json(await answer.json())
})
app.use(permitErrors())
const server = app.listen(0, '127.0.0.1', () => process.send(`http://127.0.0.1:${server.address().port}`))
process.once('disconnect', () => process.exit())
