/** What a start takes its time for. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
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

it('what is ours comes in a few files', async () => {
  const folder = newDirectory()
  const list = join(folder, 'loaded')
  const hook = `import { appendFileSync } from 'node:fs'
    export async function load(url, context, next) {
      appendFileSync(${JSON.stringify(list)}, url + '\\n')
      return next(url, context)
    }`
  const program = `import { register } from 'node:module'
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}))`
  writeFileSync(join(folder, 'hook.mjs'), program)
  const NODE_OPTIONS = `--import ${pathToFileURL(join(folder, 'hook.mjs'))}`
  const server = await ShippedServer.start({ dataDir: newDirectory(), env: { NODE_OPTIONS } })
  await server.stop()
  const ours = readFileSync(list, 'utf8')
    .split('\n')
    .filter((url) => url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(`file://${folder}`))
  // Threads load some again. In the modules that were bundled they would be about 600.
  expect(ours.length).toBeGreaterThan(1)
  expect(ours.length).toBeLessThan(200)
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
