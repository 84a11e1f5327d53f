import { accessSync, constants, existsSync, readdirSync, type Stats, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { statIfThere } from '@countersign/durable-files'
import { type Finding, fine, problem } from './finding.js'

const SUBJECT = 'data directory'
const FILES = 'files'
const SPACE = 'disk space'

/** Windows has no permission bits. */
const IS_POSIX = process.platform !== 'win32'

/** Whether this user can work there, and nobody else can change what is there. */
export function checkDataDirectory(dataDir: string): Finding {
  const found = statIfThere(dataDir)
  return found === undefined ? checkPlace(dataDir, nearestFolder(dataDir)) : checkAccess(dataDir, found)
}

/** @param minimumFreeBytes less free space than that is a problem */
export function checkSpace(dataDir: string, minimumFreeBytes: number): Finding {
  const place = nearestFolder(dataDir)
  const { bavail, bsize } = statfsSync(place)
  const free = bavail * bsize
  const text = `${Math.floor(free / 2 ** 20)} MiB are free at ${place}.`
  if (free >= minimumFreeBytes) return fine(SPACE, text)
  return problem(SPACE, text, 'make room, or move the data directory: a full disk turns every decision into a 503.')
}

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path))
}

function checkPlace(dataDir: string, place: string): Finding {
  if (isUsable(place)) return fine(SUBJECT, `${dataDir} does not exist yet; the first start makes it.`)
  return problem(SUBJECT, `${dataDir} does not exist, and this user cannot make it.`, `make it, owned by this user.`)
}

function checkAccess(dataDir: string, found: Stats): Finding {
  if (!found.isDirectory()) return problem(SUBJECT, `${dataDir} is no directory.`, 'set DATA_DIR to a directory.')
  const uid = process.getuid?.()
  if (uid !== undefined && found.uid !== uid)
    return problem(
      SUBJECT,
      `${dataDir} belongs to the user with number ${found.uid}, not to this one (${uid}).`,
      'run this, and the server, as that user.',
    )
  if (!isUsable(dataDir))
    return problem(SUBJECT, `This user cannot read and write ${dataDir}.`, `run: chmod 700 ${dataDir}`)
  if (IS_POSIX && (found.mode & 0o022) !== 0)
    return problem(SUBJECT, `Other users can change what is in ${dataDir}.`, `run: chmod 700 ${dataDir}`)
  return fine(SUBJECT, `${dataDir} can be written by this user alone.`)
}

/** Whether what the server keeps there is its user's alone. The signing keys have a check of their own. */
export function checkFiles(dataDir: string): Finding {
  const uid = process.getuid?.()
  const names = existsSync(dataDir) ? readdirSync(dataDir) : []
  for (const name of names.filter((name) => /^(countersign\.db.*|bootstrap-key|lock)$/.test(name))) {
    const path = join(dataDir, name)
    const file = statSync(path, { throwIfNoEntry: false })
    if (file === undefined) continue
    if (file.isDirectory()) return problem(FILES, `${path} is a folder, and has to be a file.`, 'move it away.')
    if (uid !== undefined && file.uid !== uid)
      return problem(FILES, `${path} belongs to the user with number ${file.uid}.`, `run as root: chown ${uid} ${path}`)
    if (IS_POSIX && (file.mode & 0o077) !== 0)
      return problem(FILES, `Other users may open ${path}.`, `run: chmod 600 ${path}`)
  }
  return fine(FILES, 'No other user may open them.')
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}
