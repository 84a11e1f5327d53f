/** Runs one command of the checks: with a time limit, and so that it leaves no process behind. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** A process that is just ending when its parent has ended is not left behind. */
const GRACE_MS = 5_000
const MARK = 'COUNTERSIGN_CI_STEP'

/**
 * @typedef {{ name: string, command: [program: string, ...args: string[]], minutes: number }} Step
 */

/**
 * Runs the step.
 * @param {Step} step
 * @param {string} cwd
 * @param {'inherit' | 'ignore' | number} [output] where its output goes: to this process's own, nowhere, to an open file
 * @param {number} [graceMs] for what ends after the step, by itself
 * @returns {Promise<import('./summary.mjs').StepResult>}
 */
export async function runStep(
  { name, command: [program, ...args], minutes },
  cwd,
  output = 'inherit',
  graceMs = GRACE_MS,
) {
  const started = performance.now()
  const mark = randomUUID()
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, [MARK]: mark },
    stdio: ['ignore', output, output],
  })
  const limit = setTimeout(() => killAll(mark, child.pid), minutes * 60_000)
  const fault = await faultOf(child)
  const late = performance.now() - started >= minutes * 60_000
  clearTimeout(limit)
  const left = await endLeftovers(mark, graceMs)
  const seconds = Math.round((performance.now() - started) / 100) / 10
  const detail = late ? `took longer than ${minutes} min` : (fault ?? left)
  return detail ? { name, status: 'failed', seconds, detail } : { name, status: 'passed', seconds }
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<string | undefined>} why it is not a success
 */
function faultOf(child) {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) =>
      resolve(code === 0 ? undefined : `ended with ${signal ?? `exit code ${code}`}`),
    )
  })
}

/**
 * @param {string} mark
 * @param {number} graceMs
 * @returns {Promise<string | undefined>} what had to be ended
 */
async function endLeftovers(mark, graceMs) {
  await untilGone(mark, graceMs)
  const commands = marked(mark).map((pid) => readProc(pid, 'cmdline').replaceAll('\0', ' ').trim())
  killAll(mark)
  await untilGone(mark, GRACE_MS)
  return commands.length > 0 ? `left processes behind: ${commands.join('; ')}` : undefined
}

/**
 * @param {string} mark
 * @param {number} milliseconds to wait at most
 */
async function untilGone(mark, milliseconds) {
  const end = performance.now() + milliseconds
  while (marked(mark).length > 0 && performance.now() < end) await pause(20)
}

/**
 * @param {string} mark
 * @param {number} [first]
 */
function killAll(mark, first) {
  for (const pid of first ? [first, ...marked(mark)] : marked(mark)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended by itself in between.
    }
  }
}

/**
 * The processes that were started by the step or its descendants, told by the environment that they inherited, which
 * also finds those that left its process group. Only where there is /proc (Linux).
 * @param {string} mark
 */
function marked(mark) {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => readProc(pid, 'environ').split('\0').includes(`${MARK}=${mark}`))
}

/**
 * @param {number} pid
 * @param {string} file
 */
function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
