/** A log that cannot be written stops no decision. */
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { call } from './call.js'
import { Child, endChildren } from './child.js'
import { CHOSEN_KEY, MAIN, newDirectory, removeDirectories } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** The shipped server with its standard output somewhere else; the port is told by the kernel, not by the log. */
async function startWithOutput(redirection: string): Promise<{ readonly server: Child; readonly url: string }> {
  const port = 20_000 + (process.pid % 10_000)
  const env = {
    PORT: String(port),
    DATA_DIR: newDirectory(),
    COUNTERSIGN_BOOTSTRAP_KEY: CHOSEN_KEY,
    RATE_LIMIT_PER_SECOND: '0',
  }
  const server = new Child('sh', ['-c', `'${process.execPath}' '${MAIN}' serve ${redirection}`], { env })
  const url = `http://127.0.0.1:${port}`
  const isReady = () => call(url, 'GET', '/readyz').then(({ status }) => (status === 200 ? true : undefined))
  await until('readiness', () => isReady().catch(() => undefined))
  return { server, url }
}

const CASES = [
  ['on a full disk', '>/dev/full'],
  ['in a pipe that nobody reads', '| sleep 1000'],
] as const

describe.each(CASES)('a log %s', (_where, redirection) => {
  it('leaves every answer as it is, and the server alive', async () => {
    const { server, url } = await startWithOutput(redirection)
    const ask = async () => {
      // Refused requests write the longest lines.
      const path = `/v1/${'nothing/'.repeat(200)}`
      expect((await call(url, 'GET', path, { key: CHOSEN_KEY })).status).toBe(404)
      const body = { agent_id: 'agent:a', action: 'payment.refund' }
      return (await call(url, 'POST', '/v1/decisions', { key: CHOSEN_KEY, body })).status
    }
    for (let round = 0; round < 40; round++)
      expect(await Promise.all(Array.from({ length: 10 }, ask))).toEqual(Array(10).fill(200))
    expect(server.ending).toBeUndefined()
  })
})
