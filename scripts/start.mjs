/** `npm start`: prepares the checkout, then becomes the server, so that signals, exit code and terminal are its own. */
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { prepare } from './prepare.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
await prepare(root, 'server')

const entry = join(root, 'server', 'bin', 'countersign.js')
process.argv = [process.execPath, entry, 'serve', ...process.argv.slice(2)]
await import(pathToFileURL(entry).href)
