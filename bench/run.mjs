/** `npm run bench`: runs every script of this folder, one after another, so that none disturbs another's figures. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { prepare } from '../scripts/prepare.mjs'

await prepare(fileURLToPath(new URL('..', import.meta.url)))

const folder = fileURLToPath(new URL('.', import.meta.url))
const names = readdirSync(folder).filter((name) => name.endsWith('.mjs') && name !== 'run.mjs')
const failed = names.filter((name) => {
  console.log(`\n=== ${name}`)
  return spawnSync(process.execPath, [name], { cwd: folder, stdio: 'inherit' }).status !== 0
})
if (failed.length > 0) console.error(`\nfailed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
