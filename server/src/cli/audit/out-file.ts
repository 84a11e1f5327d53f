import { dirname } from 'node:path'
import { statIfThere } from '../../durable-files/stat-if-there.js'
import { failure } from '../exit.js'

/**
 * Reports a faulty output path before the content is requested.
 *
 * @throws CommandError
 */
export function assertPlace(out: string): void {
  const folder = dirname(out)
  if (statIfThere(folder)?.isDirectory() !== true)
    throw failure(`There is no folder ${folder}. Create it, or name another file with --out.`)
  if (statIfThere(out)?.isDirectory()) throw failure(`${out} is a folder. Name a file with --out.`)
}
