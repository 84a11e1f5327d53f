/** A lock between processes of one machine: one file, held by the process named in it. */
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const POLL_MS = 100
/** A holder shows every `BEAT_MS` that it lives, because a process id alone may be in use again after a restart. */
const BEAT_MS = 2_000
const STALE_MS = 30_000

/**
 * Runs `work` while holding the lock file, waiting for another holder; a lock whose holder died is taken over.
 * @template T
 * @param {string} file
 * @param {(line: string) => void} say told once when there is something to wait for
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, say, work) {
  const owner = `${process.pid}`
  for (let told = false; !tryTake(file, owner); told = true) {
    if (breakStale(file)) continue
    if (!told) say(`Waiting for process ${readOwner(file) ?? '?'}, which prepares this checkout`)
    await pause(POLL_MS)
  }
  const release = () => {
    if (readOwner(file) === owner) rmSync(file)
  }
  process.once('exit', release)
  const beat = setInterval(() => utimesSync(file, new Date(), new Date()), BEAT_MS)
  try {
    return await work()
  } finally {
    clearInterval(beat)
    process.removeListener('exit', release)
    release()
  }
}

/**
 * @param {string} file
 * @param {string} owner
 */
function tryTake(file, owner) {
  const own = `${file}.${owner}`
  writeFileSync(own, owner)
  try {
    linkSync(own, file)
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(own, { force: true })
  }
}

/**
 * Takes a dead holder's lock away. Renaming first lets exactly one of several that saw it dead do so; the content is
 * looked at again afterwards, so that a lock taken in between is put back.
 * @param {string} file
 * @returns {boolean} whether the lock may be free now
 */
function breakStale(file) {
  const owner = readOwner(file)
  if (owner === undefined) return true
  if (!isStale(file, owner)) return false
  const aside = `${file}.stale.${process.pid}`
  try {
    renameSync(file, aside)
    if (readOwner(aside) !== owner) linkSync(aside, file)
  } catch {
    // Another process was faster at taking the dead lock away, or at taking a new one.
  }
  rmSync(aside, { force: true })
  return true
}

/**
 * @param {string} file
 * @param {string} owner
 */
function isStale(file, owner) {
  try {
    if (Date.now() - statSync(file).mtimeMs > STALE_MS) return true
    process.kill(Number(owner), 0)
    return false
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH'
  }
}

/** @param {string} file */
function readOwner(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
