/** What a start takes its time for. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

afterEach(endChildren)
afterEach(removeDirectories)

const SERVE = new URL('../../dist/cli/serve.js', import.meta.url)
const PROGRAM = `
  import { createRequire } from 'node:module'
  await import('${SERVE}')
  const paths = Object.keys(createRequire('${SERVE}').cache)
  console.log(JSON.stringify(paths.map((path) => path.split('/node_modules/').at(-1).split('/')[0])))
`

it('the driver of MongoDB is not loaded for the embedded store', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', PROGRAM], { encoding: 'utf8' })
  const packages = new Set(JSON.parse(output))
  expect(packages).toContain('express')
  expect(packages).not.toContain('mongodb')
})

it('the SDK of OpenTelemetry is not loaded for a server that exports no spans', async () => {
  // The library of the metrics loads its API.
  const loaded = `
    process.on('SIGTERM', () => {
      const paths = Object.keys(require('node:module')._cache)
      console.error(paths.filter((path) => /@opentelemetry.(?!api.)/.test(path)).length + ' of ' + paths.length)
    })`
  const folder = newDirectory()
  writeFileSync(join(folder, 'loaded.cjs'), loaded)
  const counted = async (env: Record<string, string>): Promise<readonly string[]> => {
    const NODE_OPTIONS = `--require ${join(folder, 'loaded.cjs')}`
    const server = await ShippedServer.start({ dataDir: newDirectory(), env: { NODE_OPTIONS, ...env } })
    await server.stop()
    return /(\d+) of (\d+)/.exec(server.stderr) ?? []
  }
  const [, none, others] = await counted({})
  expect([none, Number(others) > 10]).toEqual(['0', true])
  const [, some] = await counted({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })
  expect(Number(some)).toBeGreaterThan(10)
})
