/**
 * The real application with a clock that stands still unless its parent process moves it, and with a store whose commits
 * its parent can stop, or make the process die of. For tests only: it is no part of what is shipped. Messages:
 * `{set_time}` (RFC 3339), `{hang_commits}` (a boolean: those that begin from now on never end), `{kill_at: {type, step,
 * delay_ms}}` (SIGKILL at the first commit that holds an audit entry of the type: `reserve`, once its budgets are
 * reserved; `before` the commit begins; `inside` it, that time after it began; `after` it, before the answer). Each one is
 * answered by `{done: true}`. `DRIVEN_TIME` is the time to begin with. `DRIVEN_STORE_BEHIND_MS` is how long ago what this
 * process does seems to be to the others that share its store.
 */
import { openMongoStore } from '#server/stores/mongodb/open'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { jsonLog } from '../../dist/adapters/json-log.js'
import { readConfig } from '../../dist/config.js'
import { start } from '../../dist/start.js'

let now = new Date(process.env.DRIVEN_TIME ?? '2026-11-21T10:00:00.000Z')
let hangsCommits = false
let killAt = null

const die = () => process.kill(process.pid, 'SIGKILL')

async function openStore(dataDir) {
  const url = process.env.MONGODB_URL
  const behindMs = Number(process.env.DRIVEN_STORE_BEHIND_MS ?? 0)
  const store = url
    ? await openMongoStore({ url, nowMs: () => Date.now() - behindMs })
    : await openSqliteStore({ dataDir })
  const commit = store.commit.bind(store)
  store.commit = async (records) => {
    if (hangsCommits) return new Promise(() => {})
    const isHere = killAt !== null && records.some(({ entry }) => entry?.type === killAt.type)
    if (isHere && killAt.step === 'before') die()
    const written = commit(records)
    if (isHere && killAt.step === 'inside') {
      // This thread stands still while the one that writes goes on.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, killAt.delay_ms)
      die()
    }
    const result = await written
    if (isHere) die()
    return result
  }
  const { ledger } = store
  const reserve = ledger.reserve.bind(ledger)
  ledger.reserve = async (request) => {
    const answer = await reserve(request)
    if (killAt?.step === 'reserve') die()
    return answer
  }
  return store
}

process.on('message', ({ set_time, hang_commits, kill_at }) => {
  if (set_time !== undefined) now = new Date(set_time)
  if (hang_commits !== undefined) hangsCommits = hang_commits
  if (kill_at !== undefined) killAt = kill_at
  process.send({ done: true })
})
// A test that is gone cannot end this process any more.
process.on('disconnect', () => process.exit(1))

const config = readConfig(process.env)
const log = jsonLog(config.logLevel)
const clock = { now: () => new Date(now), startFrom() {}, jump: () => null, confirm() {} }
const { url, stop } = await start(config, { clock, log, openStore })
log.info({ url }, 'ready')
process.once('SIGTERM', async () => {
  const code = await stop().then(
    () => 0,
    () => 1,
  )
  process.exit(code)
})
