/** `npm run test:browser`: the pages of the dashboard in Chromium, on real servers; arguments are vitest's. */
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'
import { becomeVitest } from './vitest.mjs'

await prepare(fileURLToPath(new URL('..', import.meta.url)), 'tests')
process.env.BROWSER = 'true'
await becomeVitest(['--project', 'browser', ...process.argv.slice(2)], 'vitest-browser.json')
