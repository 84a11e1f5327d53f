/** A shop that is paid over x402, and the network that books its payments. Both are on this machine, and no money moves. */
import { once } from 'node:events'
import { createServer } from 'node:http'

const PAYEE = '0x5h0p'
/** Of 1e-6 USDC, as x402 counts. */
const PRICE = '2000000'

/** What the network has booked, by the nonce of the payment: a nonce is booked once. */
export class Network {
  /** @type {Map<string, number>} */
  #booked = new Map()

  /** @param {{ nonce: string, value: string }} payment */
  book({ nonce, value }) {
    this.#booked.set(nonce, Number(value) / 1e6)
  }

  /** In USDC; undefined for a payment that was never booked. @param {string} nonce */
  amountOf(nonce) {
    return this.#booked.get(nonce)
  }

  get total() {
    return [...this.#booked.values()].reduce((sum, amount) => sum + amount, 0)
  }
}

/**
 * How each page answers a payment. The answer alone does not say whether it was booked.
 *
 * @type {Record<string, { isBooked: boolean, answer: (res: import('node:http').ServerResponse) => void }>}
 */
const PAGES = {
  '/weather': { isBooked: true, answer: (res) => paid(res, { weather: 'sunny', receipt: { id: 'R-1' } }) },
  '/news': { isBooked: true, answer: (res) => required(res, '/news', 'the payment is required') },
  '/charts': { isBooked: false, answer: (res) => required(res, '/charts', 'insufficient_funds') },
  '/stocks': { isBooked: true, answer: (res) => paid(res, { quotes: [101.5] }) },
  '/routes': { isBooked: true, answer: (res) => void res.socket?.destroy() },
  '/archive': { isBooked: true, answer: (res) => paid(res, { receipt: { id: 'R-2' } }) },
}
/** More than the agent may spend at once. */
const PRICES = /** @type {Record<string, string>} */ ({ '/archive': '60000000' })

/**
 * @param {Network} network
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function openShop(network) {
  const server = createServer((req, res) => {
    const path = req.url ?? ''
    const page = PAGES[path]
    if (page === undefined) return void res.writeHead(404).end()
    const payment = req.headers['x-payment']
    if (payment === undefined) return required(res, path, 'X-PAYMENT header is required')
    const { payload } = JSON.parse(Buffer.from(String(payment), 'base64').toString())
    if (page.isBooked) network.book(payload.authorization)
    page.answer(res)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}

/**
 * @param {import('node:http').ServerResponse} res
 * @param {string} path
 * @param {string} error
 */
function required(res, path, error) {
  const terms = { scheme: 'exact', network: 'local', payTo: PAYEE, asset: 'USDC', maxTimeoutSeconds: 60 }
  const accepts = [{ ...terms, resource: path, maxAmountRequired: PRICES[path] ?? PRICE }]
  res.writeHead(402, { 'content-type': 'application/json' }).end(JSON.stringify({ x402Version: 1, error, accepts }))
}

/**
 * @param {import('node:http').ServerResponse} res
 * @param {object} body
 */
function paid(res, body) {
  const settled = Buffer.from(JSON.stringify({ success: true, network: 'local' })).toString('base64')
  res.writeHead(200, { 'content-type': 'application/json', 'x-payment-response': settled }).end(JSON.stringify(body))
}
