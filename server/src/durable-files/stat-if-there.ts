import { type Stats, statSync } from 'node:fs'

/** Returns the stats of a path; undefined when nothing is there, also when a part of the path is not a folder. */
export function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
    throw error
  }
}

/** Catches the error of a file that does not exist. */
export function orNull(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
