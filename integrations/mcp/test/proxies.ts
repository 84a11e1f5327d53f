/** The proxy as it is shipped: a process of its own. */
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
