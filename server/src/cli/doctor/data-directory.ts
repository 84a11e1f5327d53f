import { accessSync, constants, existsSync, readdirSync, type Stats, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { statIfThere } from '../../durable-files/stat-if-there.js'
import { type Finding, fine, problem } from './finding.js'

/** Windows has no permission bits. */
const IS_POSIX = process.platform !== 'win32'

/** Whether this user can read and write the directory, and no other user can write to it. */
export function checkDataDirectory(dataDir: string): Finding {
  const found = statIfThere(dataDir)
  return found === undefined ? checkMissing(dataDir, nearestFolder(dataDir)) : checkAccess(dataDir, found)
}

/** @param minimumFreeBytes less free space is a problem */
export function checkSpace(dataDir: string, minimumFreeBytes: number): Finding {
  const folder = nearestFolder(dataDir)
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const text = `${Math.floor(free / 2 ** 20)} MiB are free at ${folder}.`
  if (free >= minimumFreeBytes) return fine(text)
  return problem(
    text,
    'free some space, or move the data directory. On a full disk every decision is answered with 503.',
  )
}

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path))
}

function checkMissing(dataDir: string, parent: string): Finding {
  if (isUsable(parent)) return fine(`${dataDir} does not exist yet. The first start creates it.`)
  return problem(
    `${dataDir} does not exist, and this user cannot create it.`,
    'create it as a directory that this user owns.',
  )
}

function checkAccess(dataDir: string, found: Stats): Finding {
  if (!found.isDirectory()) return problem(`${dataDir} is not a directory.`, 'set DATA_DIR to a directory.')
  const uid = process.getuid?.()
  if (uid !== undefined && found.uid !== uid)
    return problem(
      `${dataDir} belongs to the user with number ${found.uid}, not to this one (${uid}).`,
      'run this command and the server as that user.',
    )
  if (!isUsable(dataDir)) return problem(`This user cannot read and write ${dataDir}.`, `run: chmod 700 ${dataDir}`)
  if (IS_POSIX && (found.mode & 0o022) !== 0)
    return problem(`Other users can write into ${dataDir}.`, `run: chmod 700 ${dataDir}`)
  return fine(`Only this user can write into ${dataDir}.`)
}

/** Whether only this user can open the files of the server. The signing keys have their own check. */
export function checkFiles(dataDir: string): Finding {
  const uid = process.getuid?.()
  const names = existsSync(dataDir) ? readdirSync(dataDir) : []
  for (const name of names.filter((name) => /^(countersign\.db.*|bootstrap-key|lock)$/.test(name))) {
    const path = join(dataDir, name)
    const file = statSync(path, { throwIfNoEntry: false })
    if (file === undefined) continue
    if (file.isDirectory()) return problem(`${path} must be a file, but is a folder.`, 'move it away.')
    if (uid !== undefined && file.uid !== uid)
      return problem(`${path} belongs to the user with number ${file.uid}.`, `run as root: chown ${uid} ${path}`)
    if (IS_POSIX && (file.mode & 0o077) !== 0) return problem(`Other users can open ${path}.`, `run: chmod 600 ${path}`)
  }
  return fine('No other user can open them.')
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}
