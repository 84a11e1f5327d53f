/** An app with one guarded route, which closes its server after this many answers and then has nothing left to do. */
import { Countersign } from '@countersign/client'
import { guard } from '@countersign/express'
import express from 'express'

let answers = Number(process.env.ANSWERS)
const mayRefund = guard({ client: new Countersign(), agent_id: 'agent:support-7', action: 'payment.refund' })
const app = express().post('/', mayRefund, (_req, res) => {
  res.set('connection', 'close').json({ done: true })
  answers -= 1
  if (answers > 0) return
  server.close()
  process.disconnect()
})
const server = app.listen(0, '127.0.0.1', () => process.send({ url: `http://127.0.0.1:${server.address().port}` }))
