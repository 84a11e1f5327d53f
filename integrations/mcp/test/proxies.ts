/** The proxy as it is shipped: a process of its own. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url))

export function commandOf(...options: readonly string[]): { command: string; args: string[] } {
  return { command: process.execPath, args: [CLI, ...options] }
}

/** What the proxy is told of its decision point, and what every process needs. */
export function proxyEnvironment(url: string, apiKey: string): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  return { PATH, HOME, COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: apiKey }
}

/** One on which nobody listens now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
