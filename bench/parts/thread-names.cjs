/**
 * Loaded before a server of Node (`--require`, by NODE_OPTIONS, which its worker threads get too): gives each thread a name that
 * /proc/<pid>/task/<thread>/comm shows, as Node gives none. Nothing else changes, but that libuv's pool starts a moment earlier.
 * A worker is named by its program; in a bundle, the last comment with a path says which program that is. Linux.
 */
const { existsSync, readdirSync, readFileSync, stat, writeFileSync } = require('node:fs')
const { basename } = require('node:path')
const { isMainThread } = require('node:worker_threads')

const TASKS = '/proc/self/task'
const LONGEST = 15
const WORKERS = [
  [/stores\/sqlite/, 'store writer'],
  [/feed/, 'feed'],
]

if (existsSync('/proc/thread-self/comm')) isMainThread ? nameHelpers() : setImmediate(nameWorker)

/** At this time V8 has started its helpers, and nothing has used the pool, which starts when it is first used. */
function nameHelpers() {
  const known = new Set([String(process.pid)])
  const nameNew = (name) => {
    for (const thread of readdirSync(TASKS)) if (!known.has(thread)) writeFileSync(`${TASKS}/${thread}/comm`, name)
    for (const thread of readdirSync(TASKS)) known.add(thread)
  }
  nameNew("V8's helpers")
  stat('/', () => {})
  nameNew("libuv's pool")
}

/** Node has set the path of the worker's program by now, and not when this is loaded. */
function nameWorker() {
  const path = process.argv[1] ?? ''
  const modules = existsSync(path) ? [...readFileSync(path, 'utf8').matchAll(/^\/\/ (\S+\.js)$/gm)] : []
  const program = modules.at(-1)?.[1] ?? path
  const [, name] = WORKERS.find(([pattern]) => pattern.test(program)) ?? []
  writeFileSync('/proc/thread-self/comm', (name ?? basename(program)).slice(0, LONGEST))
}
