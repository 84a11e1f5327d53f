import {
  type OpenTransport,
  type TransportAnswer,
  type TransportRequest,
  type TransportStream,
  wholeAnswer,
} from './transport.js'

/**
 * The transport for browsers, workers and edge runtimes. `fetch` does not show the connect phase, so only the total
 * time is limited.
 */
export const openFetchTransport: OpenTransport = ({ maxBytes }) => ({
  async send(request): Promise<TransportAnswer> {
    return wholeAnswer(await stream(request), maxBytes)
  },
  stream,
  // The platform owns the connections of `fetch`.
  close() {},
})

async function stream({ method, url, headers, body, signal }: TransportRequest): Promise<TransportStream> {
  const response = await fetch(url, { method, headers, body: body ?? null, signal, redirect: 'manual' })
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    chunks: chunksOf(response),
  }
}

/** Not every platform can iterate over a stream itself. */
async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body?.getReader()
  if (reader === undefined) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    // Not awaited, because errors of cancelling no longer matter.
    void reader.cancel().catch(() => undefined)
  }
}
