/**
 * The service that moves money. It takes a permit for the very order and amount, once, and needs the decision point only to
 * read its public keys now and then. The environment says COUNTERSIGN_URL.
 */
import { permitErrors, requirePermit } from '@countersign/express'
import express from 'express'

const { COUNTERSIGN_URL } = process.env

const bookings = []

const book = requirePermit(
  {
    issuer: COUNTERSIGN_URL,
    audience: COUNTERSIGN_URL,
    jwks: `${COUNTERSIGN_URL}/.well-known/jwks.json`,
    action: 'payment.refund',
    resource: 'order:{params.order}',
    // The facts that were asked about, all of them: a permit for another amount is one for something else.
    context: (req) => ({ amount: req.body.amount, currency: 'EUR' }),
  },
  (req, res) => {
    const { sub: agent, jti: decision } = req.verifiedPermit.claims
    const booking = { order: req.params.order, amount: req.body.amount, agent, decision }
    bookings.push(booking)
    res.status(201).json(booking)
  },
)

const app = express()
app.use(express.json())
app.post('/bookings/:order', book)
app.get('/bookings', (_req, res) => res.json(bookings))
app.use(permitErrors())

const server = app.listen(0, '127.0.0.1', () => process.send({ url: `http://127.0.0.1:${server.address().port}` }))
process.once('disconnect', () => process.exit())
