/** The proxy as it is shipped: a process of its own. */
import type { ChildProcess } from 'node:child_process'
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

/** The URL that a process says on its standard error, once it serves there. So it can choose its port. */
export function saidUrl(child: ChildProcess): Promise<URL> {
  let said = ''
  return new Promise((resolve, reject) => {
    child.stderr?.on('data', (chunk) => {
      said += chunk
      const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(said)?.[0]
      if (url !== undefined) resolve(new URL(url))
    })
    child.once('close', () => reject(new Error(`The process ended: ${said}`)))
  })
}
