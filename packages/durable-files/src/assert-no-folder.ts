import { statIfThere } from './stat-if-there.js'

/** A folder is where a file of the data directory belongs. */
class FolderInPlaceError extends Error {
  override readonly name = 'FolderInPlaceError'
  constructor(path: string) {
    super(`${path} is a directory, but must be a file. Move it away, or set DATA_DIR to another directory.`)
  }
}

/** The error of opening a folder as a file would not help the operator. @throws FolderInPlaceError */
export function assertNoFolder(path: string): void {
  if (statIfThere(path)?.isDirectory()) throw new FolderInPlaceError(path)
}
