/** Standard output as a place where lines are kept: what is written counts only when it is out of this process. */
import { closeSync, fstatSync, fsync, openSync, readSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

const STDOUT = 1
/** How long a command that ends waits for a reader that takes nothing. */
const LAST_WRITE_MS = 1_000

/** The command ends while no reader takes its lines. */
export class StuckOutputError extends Error {}

/**
 * Ends a line that a former process left unfinished in the file, so that the first line is not glued to it. Without the
 * right to read the file, nothing happens.
 */
export function endUnfinishedLine(): void {
  const { size } = fstatSync(STDOUT)
  if (!isFile() || size === 0) return
  try {
    const file = openSync(`/dev/fd/${STDOUT}`, 'r')
    const last = Buffer.alloc(1)
    readSync(file, last, 0, 1, size - 1)
    closeSync(file)
    if (last.toString() !== '\n') process.stdout.write('\n')
  } catch {
    // Windows has no such path.
  }
}

/**
 * Writes lines. Resolves when a pipe has taken all of them, or when they are durable in a file.
 *
 * @throws StuckOutputError when the signal came, and no reader takes the lines
 */
export async function writeLines(lines: readonly string[], signal: AbortSignal): Promise<void> {
  if (lines.length === 0) return
  const done = new AbortController()
  const written = new Promise<void>((resolve, reject) => {
    process.stdout.write(`${lines.join('\n')}\n`, (error) => (error ? reject(error) : resolve()))
  })
  try {
    await Promise.race([written, giveUp(signal, done.signal)])
  } finally {
    done.abort()
  }
  if (isFile()) await promisify(fsync)(STDOUT)
}

function isFile(): boolean {
  return fstatSync(STDOUT).isFile()
}

/** Rejects some time after the signal. */
function giveUp(signal: AbortSignal, done: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const onAbort = (): void => {
      pause(LAST_WRITE_MS, undefined, { signal: done }).then(
        () => reject(new StuckOutputError('No reader takes what the command writes.')),
        () => {},
      )
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true, signal: done })
  })
}
