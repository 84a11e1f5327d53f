#!/usr/bin/env node
// npm links a command only if its file exists at install, and what a build makes does not exist then.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const built = new URL('../dist/command/main.js', import.meta.url)
if (existsSync(built)) await import(built)
else {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  process.stderr.write(`countersign is not built yet. Run "npm start" or "npm run build" in ${root} first.\n`)
  process.exitCode = 1
}
