import { mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { namesThreads } from './cpu.mjs'
import { printTable } from './table.mjs'

const PROFILER = new URL('profiler.mjs', import.meta.url).href
const ENDING = '.cpuprofile'
const SHOWN = 25
const WRITTEN_MS = 10_000

/** Settings of a server that is to be profiled into the folder. */
export function profilerFlags(folder) {
  mkdirSync(folder, { recursive: true })
  return { NODE_OPTIONS: `${namesThreads.NODE_OPTIONS} --import ${PROFILER}`, PROFILES: folder }
}

/** Profiles a server that has these settings while it is measured, moves what it wrote, and prints where the time went. */
export async function profiled(pid, folder, into, measure) {
  process.kill(pid, 'SIGUSR2')
  const { answers, allUs, threadsUs } = await measure()
  process.kill(pid, 'SIGUSR2')
  mkdirSync(into, { recursive: true })
  const names = await written(folder)
  for (const name of names) renameSync(join(folder, name), join(into, name))
  const threads = [...threadsUs].toSorted(([, one], [, other]) => other - one)
  console.log(
    `\n=== ${into}: ${answers} requests; CPU us each: ${allUs.toFixed(0)} in all, ` +
      `${threads.map(([thread, us]) => `${thread} ${us.toFixed(0)}`).join(', ')}`,
  )
  for (const name of names) {
    const thread = name.slice(0, -ENDING.length)
    print(thread, JSON.parse(readFileSync(join(into, name), 'utf8')), threadsUs.get(thread) ?? 0)
  }
}

/** The names of the profiles, once each thread has written the one that it began. */
async function written(folder) {
  for (const until = performance.now() + WRITTEN_MS; performance.now() < until; await pause(50)) {
    const names = readdirSync(folder).filter((name) => name.includes(ENDING))
    if (names.length > 0 && names.every((name) => name.endsWith(ENDING))) return names.toSorted()
  }
  throw new Error('The server wrote no profiles.')
}

/**
 * Prints microseconds on the CPU a request, of the functions that took most themselves, and of files. A profile has the time that
 * went by, in which a thread also waits for a CPU: its shares are taken of the time on the CPU.
 */
function print(thread, { nodes, samples, timeDeltas }, onCpuUs) {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]))
  const isOfProfiler = (id) => {
    for (let at = id; at !== undefined; at = parents.get(at))
      if (byId.get(at).url.includes('node:inspector')) return true
    return false
  }
  const [functions, files] = [new Map(), new Map()]
  const add = (times, key, us) => times.set(key, (times.get(key) ?? 0) + us)
  samples.forEach((id, at) => {
    const { functionName, url, lineNumber } = byId.get(id)
    if (functionName === '(idle)' || isOfProfiler(id)) return
    const file = fileOf(url)
    const place = url === '' ? file : `${file}:${lineNumber + 1}`
    add(functions, `${functionName || '(anonymous)'} ${place}`, timeDeltas[at])
    add(files, file, timeDeltas[at])
  })
  const all = [...files.values()].reduce((sum, time) => sum + time, 0)
  const rows = (times) =>
    [...times]
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, SHOWN)
      .map(([key, time]) => [key, ((onCpuUs * time) / all).toFixed(1)])
  console.log('')
  printTable([`thread: ${thread}, by function`, 'us/request'], rows(functions))
  console.log('')
  printTable([`thread: ${thread}, by file`, 'us/request'], rows(files))
}

/** Short enough for a line: the path below the folder of the packages, or the name of a module of Node. */
function fileOf(url) {
  if (url === '') return '(native)'
  return url.replace(/^.*\/node_modules\//, '').replace(/^file:.*\/((?:server|packages)\/)/, '$1')
}
