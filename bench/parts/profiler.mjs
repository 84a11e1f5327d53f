/**
 * Loaded into a server that names its threads, with `--import`: each SIGUSR2 starts profiles of all its threads that run JavaScript,
 * or stops them and writes them into PROFILES as `<name of the thread>.cpuprofile`. Linux.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

const INTERVAL_US = 200

const session = new Session()
session.connect()
let runs = false

function toggle() {
  runs = !runs
  const thread = isMainThread ? 'main' : readFileSync('/proc/thread-self/comm', 'utf8').trim()
  const path = join(process.env.PROFILES, `${thread}.cpuprofile`)
  const part = `${path}.part`
  if (runs) {
    // Says that a profile is to come.
    writeFileSync(part, '')
    session.post('Profiler.enable')
    session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US })
    session.post('Profiler.start')
    return
  }
  session.post('Profiler.stop', (error, result) => {
    if (error !== null) throw error
    writeFileSync(part, JSON.stringify(result.profile))
    renameSync(part, path)
  })
}

const threads = new BroadcastChannel('profiler')
threads.unref()
threads.onmessage = toggle
if (isMainThread) {
  process.on('SIGUSR2', () => {
    threads.postMessage('toggle')
    toggle()
  })
}
