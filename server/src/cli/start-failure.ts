/** Why a server does not start: a sentence that tells the operator what to do, and the exit code. */

import { type Config, ConfigError } from '../config.js'
import { DamagedRecordError, StoreUnavailableError } from '../ports/store/errors.js'
import { CommandError, EXIT, fail, isFaultOfProgram } from './exit.js'

/** Reports why the server did not start. A stack is shown only of a fault of the program itself. Returns the exit code. */
export async function startFailure(error: unknown, config: Config): Promise<number> {
  if (error instanceof ConfigError) return fail(error, EXIT.config)
  const sentence = await sentenceOf(error, config)
  if (sentence === null) return fail(error instanceof Error ? error : new Error(String(error)), EXIT.failure)
  const { text, exitCode = EXIT.failure } = sentence
  return fail(new CommandError(exitCode, text), exitCode)
}

interface Sentence {
  readonly text: string
  /** {@link EXIT.failure} when absent. */
  readonly exitCode?: number
}

/** Null for a fault of the program itself. */
async function sentenceOf(error: unknown, config: Config): Promise<Sentence | null> {
  if (error instanceof DamagedRecordError) return { text: `${error.message} Undo the edit, or restore a backup.` }
  if (error instanceof StoreUnavailableError) return { text: await storeSentence(error, config) }
  if (!(error instanceof Error)) return null
  const { code, syscall } = error as NodeJS.ErrnoException
  if (typeof code === 'string') {
    if (code.startsWith('SQLITE_')) return { text: databaseSentence(error, code, config) }
    return syscall === undefined ? null : systemSentence(error, code, config)
  }
  return isFaultOfProgram(error) ? null : { text: error.message }
}

async function storeSentence(error: StoreUnavailableError, { mongodbUrl, dataDir }: Config): Promise<string> {
  if (mongodbUrl === null)
    return `${error.message} Check the disk of DATA_DIR ${dataDir}: it may be full, read-only or broken. Then start again.`
  const { mongoFailure } = await import('../stores/mongodb/connection/failure.js')
  return `${mongoFailure(mongodbUrl, error)} Is it running, and is MONGODB_URL right?`
}

/** An error of SQLite while the embedded store is opened. */
function databaseSentence({ message }: Error, code: string, { dataDir }: Config): string {
  const what = `The database in ${dataDir} cannot be opened (${code}: ${message}).`
  if (/^SQLITE_(BUSY|LOCKED)/.test(code))
    return `${what} Another program has locked it: end that program, then start again.`
  // The index of the log (`-shm`) could not grow.
  if (/^SQLITE_(FULL|IOERR_SHMSIZE)/.test(code)) return `${what} The disk is full: make room, then start again.`
  if (/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code)) return `${what} ${ownerAdvice(dataDir)}`
  return `${what} Check the disk of DATA_DIR, then start again.`
}

/** An error of the operating system. */
function systemSentence(error: NodeJS.ErrnoException, code: string, { host, port, dataDir }: Config): Sentence {
  const { syscall, path = dataDir } = error
  if (code === 'EADDRINUSE')
    return {
      text: `Port ${port} on ${host} is in use. Is Countersign already running? If not, set PORT to another port.`,
    }
  if (syscall === 'listen' && (code === 'EACCES' || code === 'EPERM'))
    return { text: `This user may not use port ${port} on ${host}. Set PORT to a port above 1023.` }
  if (code === 'EADDRNOTAVAIL' || syscall === 'getaddrinfo')
    return { text: `HOST ${host} is not an address of this machine. Set HOST to one, such as 127.0.0.1.` }
  if (syscall === 'mkdir' && !DISK_TROUBLE.has(code))
    return { text: `DATA_DIR ${dataDir} cannot be created as a directory (${code}).`, exitCode: EXIT.config }
  const advice = DISK_TROUBLE.get(code) ?? (code === 'EACCES' || code === 'EPERM' ? ownerAdvice(dataDir) : null)
  return { text: `${path} cannot be used (${code}). ${advice ?? 'Check DATA_DIR and its contents.'}` }
}

const DISK_TROUBLE: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'The disk is full: make room, then start again.'],
  ['EDQUOT', 'This user may not use more of the disk: raise the quota or make room, then start again.'],
  ['EFBIG', 'The file may not grow: raise the limit of file sizes (ulimit -f), then start again.'],
  ['EROFS', 'The disk is read-only: mount it for writing, then start again.'],
  ['EIO', 'The disk does not work: check it, and restore a backup if it is broken.'],
  ['EMFILE', 'Too many files are open: raise the limit (ulimit -n), then start again.'],
  ['ENFILE', 'Too many files are open on this machine. Close some, then start again.'],
])

function ownerAdvice(dataDir: string): string {
  const user = process.getuid === undefined ? '' : ` (number ${process.getuid()})`
  return (
    `This user${user} may not read or write it. Run the server as the owner of DATA_DIR ${dataDir}, ` +
    'or make this user the owner of all files there.'
  )
}
