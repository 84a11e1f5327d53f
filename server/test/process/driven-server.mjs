/**
 * The real application with a clock that stands still unless its parent process moves it, and with a store whose commits
 * its parent can stop. For tests only: it is no part of what is shipped. Messages: `{set_time}` (RFC 3339),
 * `{hang_commits}` (a boolean: those that begin from now on never end). Each one is answered by `{done: true}`.
 */
import { openSqliteStore } from '../../dist/adapters/store-sqlite/open.js'
import { jsonLog } from '../../dist/cli/log.js'
import { readConfig } from '../../dist/config.js'
import { start } from '../../dist/start.js'

let now = new Date('2026-11-21T10:00:00.000Z')
let hangsCommits = false

async function openStore(dataDir) {
  const store = await openSqliteStore({ dataDir })
  const commit = store.commit.bind(store)
  store.commit = (records) => (hangsCommits ? new Promise(() => {}) : commit(records))
  return store
}

process.on('message', ({ set_time, hang_commits }) => {
  if (set_time !== undefined) now = new Date(set_time)
  if (hang_commits !== undefined) hangsCommits = hang_commits
  process.send({ done: true })
})
// A test that is gone cannot end this process any more.
process.on('disconnect', () => process.exit(1))

const config = readConfig(process.env)
const log = jsonLog(config.logLevel)
const { url, stop } = await start(config, { clock: { now: () => new Date(now) }, log, openStore })
log.info({ url }, 'ready')
process.once('SIGTERM', async () => {
  const code = await stop().then(
    () => 0,
    () => 1,
  )
  process.exit(code)
})
