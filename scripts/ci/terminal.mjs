/** What a person does at a terminal with a server: starts it there, copies the curl that it prints, and presses Ctrl-C. */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'

export const CTRL_C = '\x03'

/**
 * The command line that runs a command on a terminal. `script` starts a shell of its own; one that stays (dash) would die of the
 * Ctrl-C itself and hide the exit code.
 * @param {string} command
 * @returns {[program: string, ...args: string[]]}
 */
export function onTerminal(command) {
  return ['script', '--quiet', '--return', '--command', `exec ${command}`, '/dev/null']
}

/**
 * Collects what a process prints.
 * @param {import('node:child_process').ChildProcessWithoutNullStreams} child
 * @returns {() => string}
 */
export function outputOf(child) {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      output += text
    })
  }
  return () => output
}

/**
 * The curl command that a terminal shows, with the lines that continue it.
 * @param {() => string} output
 * @param {number} withinMs
 */
export async function printedCurl(output, withinMs) {
  const end = performance.now() + withinMs
  while (performance.now() < end) {
    const curl = /^[ \t]*(curl (?:.*\\\n)*.*)\n/m.exec(output().replaceAll('\r\n', '\n'))?.[1]
    if (curl) return curl
    await pause(50)
  }
  throw new Error('No curl was printed')
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {number[]} expected
 */
export async function expectExit(child, ...expected) {
  const code = child.exitCode ?? (await once(child, 'exit'))[0]
  if (!expected.includes(code)) throw new Error(`It ended with exit code ${code}, not ${expected.join(' or ')}`)
}
