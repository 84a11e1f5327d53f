/** `npm run test:ferretdb`: the suite of the store on FerretDB; arguments are vitest's. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'
import { becomeVitest } from './vitest.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
if (!existsSync('/usr/lib/postgresql')) refuse('There is no PostgreSQL. Install the Debian package postgresql.')
await prepare(root, 'tests')
const build = fileURLToPath(new URL('../tools/ferretdb/build', import.meta.url))
if (spawnSync(build, { stdio: 'inherit' }).status !== 0) refuse('FerretDB could not be built.')
process.env.STORE = 'ferretdb'
await becomeVitest(['--project', 'ferretdb', ...process.argv.slice(2)], 'vitest-ferretdb.json')

/**
 * @param {string} why
 * @returns {never}
 */
function refuse(why) {
  console.error(why)
  process.exit(1)
}
