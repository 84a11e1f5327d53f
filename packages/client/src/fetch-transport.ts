import { AnswerTooLarge, BodyCollector, type OpenTransport, type TransportAnswer } from './transport.js'

/** The transport for browsers, workers and edge runtimes. `fetch` shows no connect phase, so only the total time is limited. */
export const openFetchTransport: OpenTransport = ({ maxBytes }) => ({
  async send({ method, url, headers, body, signal }): Promise<TransportAnswer> {
    const init: RequestInit = { method, headers, signal, redirect: 'manual' }
    if (body !== undefined) init.body = body
    const response = await fetch(url, init)
    return {
      status: response.status,
      header: (name) => response.headers.get(name),
      body: await readBody(response, maxBytes),
    }
  },
  // The platform owns the connections of `fetch`.
  close() {},
})

async function readBody(response: Response, maxBytes: number): Promise<Uint8Array> {
  const collector = new BodyCollector(maxBytes)
  const reader = response.body?.getReader()
  if (reader === undefined) return collector.body()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return collector.body()
    if (!collector.add(value)) {
      // Not awaited: what cancelling meets is of no interest any more.
      void reader.cancel().catch(() => undefined)
      throw new AnswerTooLarge(response.status)
    }
  }
}
