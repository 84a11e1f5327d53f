import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const ToldSchema = z.strictObject({ fault: z.string().nullable() })

/** Tells the process that asked. */
export function tellFault(output: NodeJS.WriteStream, fault: string | null): void {
  output.write(JSON.stringify({ fault }))
}

/**
 * What is wrong with a database that another process may have open, read to its last text; null when nothing is.
 *
 * @param hashes whether audit entries have to be what their hashes were made of, too
 */
export async function readThrough(databasePath: string, { hashes = false } = {}): Promise<string | null> {
  const program = fileURLToPath(new URL('./read-through.js', import.meta.url))
  const child = spawn(process.execPath, [program, databasePath, ...(hashes ? ['hashes'] : [])], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let told = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  const signal = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (_, signal) => resolve(signal))
  })
  try {
    return ToldSchema.parse(JSON.parse(told)).fault
  } catch {
    return `the process that read it ended with ${signal ?? 'an error'}: a text in it is not UTF-8, most likely in the schema`
  }
}
