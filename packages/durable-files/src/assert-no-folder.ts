import { statIfThere } from './stat-if-there.js'

/** A folder lies where a file of the data directory has its place. */
class FolderInPlaceError extends Error {
  override readonly name = 'FolderInPlaceError'
  constructor(path: string) {
    super(`${path} is a directory, but must be a file. Move it away, or set DATA_DIR to another directory.`)
  }
}

/** What opens a file says nothing that helps when it is a folder. @throws FolderInPlaceError */
export function assertNoFolder(path: string): void {
  if (statIfThere(path)?.isDirectory()) throw new FolderInPlaceError(path)
}
