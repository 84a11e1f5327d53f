/** What a start takes its time for. */
import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

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
