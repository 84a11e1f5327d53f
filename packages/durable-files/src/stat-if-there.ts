import { type Stats, statSync } from 'node:fs'

/** What is at a path; undefined for nothing, also where a folder on the way to it is none. */
export function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
    throw error
  }
}
