/** An app of Express that turns reviews into messages, and lets people answer them by a link. */
import { randomBytes } from 'node:crypto'
import { ApiError } from '@countersign/client'
import { webhookReceiver } from '@countersign/express'
import express from 'express'
import { chatPage, questionPage, sentencePage } from './pages.mjs'

/** What the webhook has to send: that a review waits, and every way in which it ends. */
export const EVENTS = [
  'decision.review_requested',
  'decision.approved',
  'decision.declined',
  'decision.rejected',
  'decision.expired',
]

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  // The address of a page is what lets people answer: no other page gets to know it.
  'Referrer-Policy': 'no-referrer',
}

/**
 * @param {object} options
 * @param {import('@countersign/client').Countersign} options.client with a key that has `reviews:write`, and needs nothing else
 * @param {string} options.secret of the webhook
 */
export function reviewChat({ client, secret }) {
  /** By the id of the decision. */
  const messages = new Map()
  /** The messages that can be answered, by the token of their link. */
  const open = new Map()

  /** Deliveries may come twice, and not in order: what has a higher sequence is later. */
  function note({ sequence, data: decision }) {
    // Decisions that no person was asked about expire and are rejected, too.
    if (decision.review === null) return
    const known = messages.get(decision.id)
    if (known !== undefined && known.sequence >= sequence) return
    const message = known ?? { token: randomBytes(32).toString('base64url'), isAnsweredHere: false }
    Object.assign(message, { sequence, decision })
    messages.set(decision.id, message)
    if (isOpen(message)) open.set(message.token, message)
    else open.delete(message.token)
  }

  async function answer({ decision }, isApproval) {
    const { id } = decision
    const comment = 'in the chat'
    return isApproval
      ? client.decisions.approve(id, { comment, exceed_budget: true })
      : client.decisions.decline(id, { comment })
  }

  const app = express()
  app.disable('x-powered-by')
  app.post('/countersign', webhookReceiver({ secret, on: Object.fromEntries(EVENTS.map((type) => [type, note])) }))

  app.use((_req, res, next) => {
    res.set(HEADERS)
    next()
  })
  app.get('/', (_req, res) => {
    // An id begins with the time at which it was made.
    const inOrder = [...messages.values()].sort((one, other) => (one.decision.id < other.decision.id ? -1 : 1))
    res.send(chatPage(inOrder))
  })

  app.use('/reviews/:token', (req, res, next) => {
    res.locals.message = open.get(req.params.token)
    if (res.locals.message !== undefined && isOpen(res.locals.message)) next()
    else res.status(410).send(sentencePage('This review is closed.'))
  })
  app.get('/reviews/:token', (_req, res) => res.send(questionPage(res.locals.message)))
  app.post('/reviews/:token', express.urlencoded({ limit: 100 }), async (req, res) => {
    const { message } = res.locals
    const { token } = message
    const given = req.body?.answer
    if (given !== 'approve' && given !== 'decline')
      return res.status(400).send(sentencePage('Press one of the buttons.'))
    // At once, so that it works once.
    if (!open.delete(token)) return res.status(410).send(sentencePage('This review is closed.'))
    try {
      const { status, review } = await answer(message, given === 'approve')
      Object.assign(message, { decision: { ...message.decision, status, review }, isAnsweredHere: true })
      res.send(sentencePage(`You have ${review.status} it.`))
    } catch (error) {
      // It still waits for somebody, unless an event has said otherwise meanwhile.
      if (isOpen(message)) open.set(token, message)
      if (!ApiError.isInstance(error)) throw error
      res.status(error.status).send(sentencePage(error.message))
    }
  })
  app.use((error, _req, res, _next) => {
    console.error(error)
    res.status(503).send(sentencePage('That did not work. Look at the chat, and try again.'))
  })
  return app
}

/** Whether a person can still answer. The clock ends a review before the server says so. */
function isOpen({ decision: { review } }) {
  return review.status === 'waiting' && Date.parse(review.expires_at) > Date.now()
}
