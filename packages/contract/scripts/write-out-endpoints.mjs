// Writes the endpoints as plain data to a file of the build: node write-out-endpoints.mjs dist/endpoints.js
import { readFileSync, writeFileSync } from 'node:fs'
import * as endpoints from '../dist/operations/endpoints.js'

const [target] = process.argv.slice(2)
const { ENDPOINTS: _all, ...tables } = endpoints
const written = Object.entries(tables).map(([name, table]) => `export const ${name} = ${JSON.stringify(table)}\n`)
// Made of the others, so that a bundler drops it where only they are used.
written.push(`export const ENDPOINTS = /* @__PURE__ */ Object.assign({}, ${Object.keys(tables).join(', ')})\n`)
// Left as it is where nothing changed: a build that is up to date keeps its times.
const text = written.join('')
if (readFileSync(target, 'utf8') !== text) writeFileSync(target, text)
