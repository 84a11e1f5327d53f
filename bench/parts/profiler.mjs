/**
 * Loaded into a server with `--import`: each SIGUSR2 starts profiles of all its threads that run JavaScript, or stops them and
 * writes them into PROFILES as `<thread>.cpuprofile`, 0 being the main thread.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { isMainThread, threadId } from 'node:worker_threads'

const INTERVAL_US = 200

const session = new Session()
session.connect()
let runs = false

function toggle() {
  runs = !runs
  if (runs) {
    session.post('Profiler.enable')
    session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US })
    session.post('Profiler.start')
    return
  }
  session.post('Profiler.stop', (error, result) => {
    if (error !== null) throw error
    const path = join(process.env.PROFILES, `${threadId}.cpuprofile`)
    writeFileSync(`${path}.part`, JSON.stringify(result.profile))
    renameSync(`${path}.part`, path)
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
