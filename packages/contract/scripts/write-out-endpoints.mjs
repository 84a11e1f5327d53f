// Writes the endpoints as plain data to a file of the build: node write-out-endpoints.mjs dist/endpoints.js
import { readFileSync, writeFileSync } from 'node:fs'
import { ENDPOINTS } from '../dist/operations/index.js'

const [target] = process.argv.slice(2)
// Left as it is where nothing changed: a build that is up to date keeps its times.
const text = `export const ENDPOINTS = ${JSON.stringify(ENDPOINTS)}\n`
if (readFileSync(target, 'utf8') !== text) writeFileSync(target, text)
