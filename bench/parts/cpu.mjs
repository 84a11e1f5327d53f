import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Nanoseconds on a CPU so far, of all threads of a process and of the first one; NaN where there is no /proc. */
export function cpuOf(pid) {
  if (!existsSync('/proc/self/schedstat')) return { all: Number.NaN, main: Number.NaN }
  const of = (thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  return { all: readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + of(thread), 0), main: of(pid) }
}
