import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const MAIN = 'main'

/** Settings of a server of Node that gives its threads names. */
export const namesThreads = { NODE_OPTIONS: `--require ${fileURLToPath(new URL('thread-names.cjs', import.meta.url))}` }

/**
 * Nanoseconds on a CPU so far, of all threads of a process, of the first one, and of those of each name, of which only a process
 * started with `namesThreads` has many; NaN and none where there is no /proc.
 */
export function cpuOf(pid) {
  if (!existsSync('/proc/self/schedstat')) return { all: Number.NaN, main: Number.NaN, byName: new Map() }
  const byName = new Map()
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const of = (file) => readFileSync(`/proc/${pid}/task/${thread}/${file}`, 'utf8')
    const name = thread === String(pid) ? MAIN : of('comm').trim()
    byName.set(name, (byName.get(name) ?? 0) + Number(of('schedstat').split(' ')[0]))
  }
  return { all: [...byName.values()].reduce((sum, time) => sum + time, 0), main: byName.get(MAIN), byName }
}
