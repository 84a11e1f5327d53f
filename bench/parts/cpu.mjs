import { existsSync, readdirSync, readFileSync } from 'node:fs'

/**
 * Nanoseconds on a CPU so far, of all threads of a process, of the first one, and of each by its id; NaN and none where there is
 * no /proc.
 */
export function cpuOf(pid) {
  if (!existsSync('/proc/self/schedstat')) return { all: Number.NaN, main: Number.NaN, threads: new Map() }
  const of = (thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  const threads = new Map(readdirSync(`/proc/${pid}/task`).map((thread) => [thread, of(thread)]))
  return { all: [...threads.values()].reduce((sum, time) => sum + time, 0), main: threads.get(String(pid)), threads }
}
