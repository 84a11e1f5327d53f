import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** The damage that was found (null: none), or the reason why the store could not be checked. */
const ReportSchema = z.union([
  z.strictObject({ fault: z.string().nullable() }),
  z.strictObject({ failure: z.string() }),
])

/** The store could not be read completely. It may be damaged or intact. */
export class UncheckedStoreError extends Error {
  override readonly name = 'UncheckedStoreError'
  constructor(
    path: string,
    readonly found: string,
  ) {
    super(
      `${path} could not be checked (${found}). It may be damaged or sound. Nothing was changed. ` +
        'Fix what kept it from being read (memory, disk, permissions), then try again.',
    )
  }
}

const MAX_REPORTED = 500

/** Sends the report to the parent process. */
export function report(output: NodeJS.WriteStream, result: z.infer<typeof ReportSchema>): void {
  output.write(JSON.stringify(result))
}

/**
 * Reads a whole database, which another process may have open, and resolves with its damage; null when it is intact.
 *
 * @param hashes whether to compare each audit entry with its hash
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
    errors = (errors + text).slice(-8 * MAX_REPORTED)
  })
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve([code, signal]))
  })
  // The library unwraps the text; Node ends the same way when memory runs out.
  if ((signal === 'SIGABRT' || code === 134) && errors.includes('Utf8Error'))
    return 'the process that read it was aborted: it contains text that is not UTF-8, most likely in the schema'
  const result = reportIn(output)
  if (result === null) throw new UncheckedStoreError(databasePath, endingOf(code, signal, errors))
  if ('failure' in result) throw new UncheckedStoreError(databasePath, result.failure)
  return result.fault
}

function reportIn(output: string): z.infer<typeof ReportSchema> | null {
  try {
    return ReportSchema.parse(JSON.parse(output))
  } catch {
    return null
  }
}

function endingOf(code: number | null, signal: string | null, errors: string): string {
  const ending = `the process that read it ended with ${signal ?? `exit code ${code}`}`
  const last = errors.trim().replaceAll(/\s+/g, ' ').slice(-MAX_REPORTED)
  return last === '' ? ending : `${ending}: ${last}`
}
