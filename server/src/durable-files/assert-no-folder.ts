import { statIfThere } from './stat-if-there.js'

/** A folder is in the place of a file of the data directory. */
class FolderInPlaceError extends Error {
  override readonly name = 'FolderInPlaceError'
  constructor(path: string) {
    super(`${path} is a directory, but must be a file. Move it away, or set DATA_DIR to another directory.`)
  }
}

/** Opening a folder as a file gives an error that does not help the operator. @throws FolderInPlaceError */
export function assertNoFolder(path: string): void {
  if (statIfThere(path)?.isDirectory()) throw new FolderInPlaceError(path)
}
