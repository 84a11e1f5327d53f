/** A collector of spans that costs next to nothing: takes whatever is sent. `fork` this file, and it tells its `port`. */
import { createServer } from 'node:http'

const server = createServer((req, res) => {
  req.resume()
  req.once('end', () => res.end())
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
