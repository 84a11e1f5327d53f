import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** A damage (null: none), or why none could be looked for. */
const ToldSchema = z.union([z.strictObject({ fault: z.string().nullable() }), z.strictObject({ failure: z.string() })])

/** The store could not be read through. Whether it is sound is not known. */
export class UncheckedStoreError extends Error {
  override readonly name = 'UncheckedStoreError'
  constructor(
    path: string,
    readonly found: string,
  ) {
    super(
      `${path} could not be checked (${found}). Whether it is damaged is not known. Nothing was changed. ` +
        'Mend what kept it from being read (memory, disk, rights), then try again.',
    )
  }
}

const MOST_TOLD = 500

/** Tells the process that asked. */
export function tell(output: NodeJS.WriteStream, told: z.infer<typeof ToldSchema>): void {
  output.write(JSON.stringify(told))
}

/**
 * What is wrong with a database that another process may have open, read to its last text; null when nothing is.
 *
 * @param hashes whether audit entries have to be what their hashes were made of, too
 * @throws UncheckedStoreError
 */
export async function readThrough(databasePath: string, { hashes = false } = {}): Promise<string | null> {
  const program = fileURLToPath(new URL('./read-through.js', import.meta.url))
  const child = spawn(process.execPath, [program, databasePath, ...(hashes ? ['hashes'] : [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-8 * MOST_TOLD)
  })
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve([code, signal]))
  })
  // The library unwraps the text; Node ends the same way for want of memory.
  if ((signal === 'SIGABRT' || code === 134) && errors.includes('Utf8Error'))
    return 'the process that read it was aborted: a text in it is not UTF-8, most likely in the schema'
  const told = toldIn(output)
  if (told === null) throw new UncheckedStoreError(databasePath, endingOf(code, signal, errors))
  if ('failure' in told) throw new UncheckedStoreError(databasePath, told.failure)
  return told.fault
}

function toldIn(output: string): z.infer<typeof ToldSchema> | null {
  try {
    return ToldSchema.parse(JSON.parse(output))
  } catch {
    return null
  }
}

function endingOf(code: number | null, signal: string | null, errors: string): string {
  const ending = `the process that read it ended with ${signal ?? `exit code ${code}`}`
  const last = errors.trim().replaceAll(/\s+/g, ' ').slice(-MOST_TOLD)
  return last === '' ? ending : `${ending}: ${last}`
}
