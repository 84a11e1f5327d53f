/**
 * Servers that parse a JSON body and send JSON back, each to be forked: `express` sends back what it got, `node` as many bytes as
 * it was told. It tells its `port`.
 */
import { createServer } from 'node:http'
import express from 'express'

const [, , kind, size] = process.argv

const listeners = {
  express() {
    const app = express()
    app.use(express.json())
    app.post('/v1/decisions', (req, res) => res.json(req.body))
    return app
  },
  node() {
    const filler = { filler: '' }
    return (req, res) => {
      const chunks = []
      req.on('data', (chunk) => chunks.push(chunk))
      req.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString())
        if (filler.filler === '') filler.filler = 'x'.repeat(size - JSON.stringify({ ...body, ...filler }).length)
        const answer = JSON.stringify({ ...body, ...filler })
        res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(answer) })
        res.end(answer)
      })
    }
  },
}

const server = createServer(listeners[kind]())
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
