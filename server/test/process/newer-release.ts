/** The release after this one: this server with one more migration of the embedded store, and the next version number. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newDirectory } from './shipped-server.js'

const SERVER = fileURLToPath(new URL('../../', import.meta.url))
const MIGRATIONS = /(const MIGRATIONS\b[^\n]*= \[\n[\s\S]*?\n\])/

export const NEWER_VERSION = '99.0.0'

/** Gives its command line. It is removed with the other new directories. */
export function installNewerRelease(): string {
  const root = newDirectory()
  const server = join(root, 'server')
  mkdirSync(server)
  cpSync(join(SERVER, 'dist'), join(server, 'dist'), { recursive: true })
  symlinkSync(join(SERVER, '../node_modules'), join(root, 'node_modules'))
  const manifest = JSON.parse(readFileSync(join(SERVER, 'package.json'), 'utf8'))
  writeFileSync(join(server, 'package.json'), JSON.stringify({ ...manifest, version: NEWER_VERSION }))
  const schema = join(server, 'dist/stores/sqlite/schema.js')
  const text = readFileSync(schema, 'utf8')
  const added = "['CREATE INDEX decisions_of_the_newer_release ON decisions (effect)']"
  const migrated = text.replace(MIGRATIONS, (present) => `${present}.concat(${added})`)
  if (migrated === text) throw new Error(`There are no migrations in ${schema}.`)
  writeFileSync(schema, migrated)
  return join(server, 'dist/cli/main.js')
}
