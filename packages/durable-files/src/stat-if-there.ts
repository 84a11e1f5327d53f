import { type Stats, statSync } from 'node:fs'

/** What is at a path; undefined when there is nothing, also when a part of the path is not a folder. */
export function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
    throw error
  }
}
