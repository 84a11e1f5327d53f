/**
 * `npm run bench`: runs every script of this folder, one after another, so that none disturbs another's figures, and writes what
 * they print into docs/benchmarks.md. `npm run bench -- http store` runs these two. A script that fails keeps the section it had.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, release, tmpdir, type } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { methodOf, readPage, writePage } from '../scripts/benchmarks-page.mjs'
import { prepare } from '../scripts/prepare.mjs'
import { fdatasyncMs } from './parts/disk.mjs'

const folder = fileURLToPath(new URL('.', import.meta.url))
const PAGE = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url))
const every = readdirSync(folder)
  .filter((name) => name.endsWith('.mjs') && name !== 'run.mjs')
  .map((name) => name.replace('.mjs', ''))
const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !every.includes(name))
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(', ')}. There are: ${every.join(', ')}`)
  process.exit(2)
}

await prepare(fileURLToPath(new URL('..', import.meta.url)), 'tests')

const failed = []
for (const name of asked.length > 0 ? asked : every) {
  console.log(`\n=== ${name}`)
  const date = new Date().toISOString().slice(0, 10)
  const machine = machineLine()
  const output = await outputOf(name)
  if (output === null) failed.push(name)
  else {
    const { introduction, sections } = readPage(readFileSync(PAGE, 'utf8'))
    const method = methodOf(readFileSync(join(folder, `${name}.mjs`), 'utf8'))
    const others = sections.filter((section) => section.name !== name && every.includes(section.name))
    const section = { name, method, date, machine, output }
    writeFileSync(PAGE, writePage({ introduction, sections: [...others, section] }))
  }
}
if (failed.length > 0) console.error(`\nfailed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

/** Without the empty lines at its ends; null when the script failed. */
async function outputOf(name) {
  const child = spawn(process.execPath, [`${name}.mjs`], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
    process.stdout.write(text)
  })
  const [code] = await once(child, 'close')
  return code === 0 ? output.replaceAll(/[ \t]+$/gm, '').trim() : null
}

function machineLine() {
  const scratch = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  const disk = fdatasyncMs(scratch)
  rmSync(scratch, { recursive: true })
  return (
    `${cpus().length} x ${cpus()[0].model.trim()}, ${type()} ${release()}, Node ${process.versions.node}; ` +
    `fdatasync of 4 KiB: p50 ${disk.toFixed(2)} ms`
  )
}
