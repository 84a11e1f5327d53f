import { createServer, isIPv6 } from 'node:net'
import { type Finding, fine, problem } from './finding.js'

const ANSWER_MS = 3000

export interface PortQuestion {
  readonly host: string
  readonly port: number
  /** The active signing key of the data directory. A server that publishes it is the one with these settings. */
  readonly activeKid: string | null
}

/** Whether the port is free, or used by the server with these settings. */
export async function checkPort({ host, port, activeKid }: PortQuestion): Promise<Finding> {
  const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`
  const code = await whyNotListening(host, port)
  if (code === null) return fine(`${address} is free.`)
  if (code === 'EADDRINUSE') return checkServer(host, port, activeKid)
  if (code === 'EACCES')
    return problem(`This user may not use ${address}.`, 'set PORT above 1023, or run as a user who may use the port.')
  return problem(`The server cannot listen on ${address} (${code}).`, 'set HOST to an address of this machine.')
}

function whyNotListening(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => resolve(null)))
  })
}

async function checkServer(host: string, port: number, activeKid: string | null): Promise<Finding> {
  const url = `http://${reachable(host)}:${port}`
  const keys = (await read(`${url}/.well-known/jwks.json`))?.body as { keys?: readonly { kid?: unknown }[] } | undefined
  const isOurs = activeKid !== null && Array.isArray(keys?.keys) && keys.keys.some(({ kid }) => kid === activeKid)
  if (!isOurs)
    return problem(
      `Another program, or a server with other signing keys, uses port ${port}.`,
      'stop it, or set PORT to another port. Also check that DATA_DIR is the directory of the server.',
    )
  const ready = await read(`${url}/readyz`)
  if (ready?.status === 200) return fine(`The server with these settings runs at ${url} and is ready.`)
  return problem(`The server runs at ${url}, but is not ready.`, 'see the lines below and the log of the server.')
}

/** The host at which this machine reaches a server that listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return isIPv6(host) ? `[${host}]` : host
}

/** Null when the answer is not JSON, or there is none. */
async function read(url: string): Promise<{ readonly status: number; readonly body: unknown } | null> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) })
    return { status: answer.status, body: await answer.json() }
  } catch {
    return null
  }
}
