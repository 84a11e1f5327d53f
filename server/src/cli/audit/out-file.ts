import { dirname } from 'node:path'
import { statIfThere } from '@countersign/durable-files'
import { CommandError, EXIT } from '../exit.js'

/**
 * What is wrong with the place of a file is said before anybody is asked for what goes into it.
 *
 * @throws CommandError
 */
export function assertPlace(out: string): void {
  const failure = (message: string) => new CommandError(EXIT.failure, message)
  const folder = dirname(out)
  if (statIfThere(folder)?.isDirectory() !== true)
    throw failure(`There is no folder ${folder}. Make it, or name another file with --out.`)
  if (statIfThere(out)?.isDirectory()) throw failure(`${out} is a folder. Name a file with --out.`)
}
