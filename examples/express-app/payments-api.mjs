/**
 * The API that agents call. Each refund is asked about first; then the ledger books it, which takes the permit and nobody's
 * word. The environment says LEDGER_URL, TOKEN_SECRET, and COUNTERSIGN_URL and COUNTERSIGN_API_KEY, which the client reads.
 */
import { Countersign } from '@countersign/client'
import { guard, permitErrors } from '@countersign/express'
import express from 'express'
import { expressjwt } from 'express-jwt'

const { LEDGER_URL, TOKEN_SECRET } = process.env
const client = new Countersign()

const refund = guard(
  {
    client,
    action: 'payment.refund',
    resource: 'order:{params.order}',
    context: (req) => ({ amount: req.body.amount, currency: 'EUR' }),
    // A bank that answers 500, or not at all, may have booked before: only what was surely refused frees the budget.
    outcome: (_req, res) => (res.statusCode >= 500 ? { kind: 'unknown' } : undefined),
  },
  async (req, res) => {
    const answer = await fetch(`${LEDGER_URL}/bookings/${encodeURIComponent(req.params.order)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${req.permit.permit_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ amount: req.body.amount }),
      signal: AbortSignal.timeout(10_000),
    })
    const booking = await answer.json()
    // Below 400 would be confirmed, and below 500 rejected, without a word; this says what it really cost.
    if (answer.ok) await req.permit.confirm({ amount: booking.amount })
    res.status(answer.status).json(booking)
  },
)

const app = express()
app.use(express.json())
// Who calls: the guard takes the agent from the token that was verified here, and from nowhere else.
app.use(expressjwt({ secret: TOKEN_SECRET, algorithms: ['HS256'] }))
app.post('/refunds/:order', refund)
app.use(permitErrors())
app.use((error, _req, res, _next) => res.status(error.status ?? 500).end())

const server = app.listen(0, '127.0.0.1', () => process.send({ url: `http://127.0.0.1:${server.address().port}` }))
process.once('disconnect', () => {
  server.close(async () => {
    await client.flush()
    process.exit()
  })
  server.closeIdleConnections()
})
