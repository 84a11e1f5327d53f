/** A folder that has nothing of this checkout, and a decision point of its own: for tests of what is packed. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Runs an `npm install` offline: a package that a registry would bring is linked from this checkout. */
export async function installIn(project: string, command: string): Promise<void> {
  const words = command.replace(/ +#.*/, '').split(' ').slice(2)
  const args = words.map((word) => (/^-|\.tgz$/.test(word) ? word : join(ROOT, 'node_modules', word)))
  const flags = '--offline --ignore-scripts --no-audit --no-fund --loglevel error'
  // By a shell, as the reader does: it opens the braces.
  await run('bash', ['-c', `npm install ${flags} ${args.join(' ')}`], { cwd: project })
}

/** Serves by this command line, with data below the folder, on a free port. */
export async function serveIn(folder: string, command: string, args: readonly string[]) {
  const dataFolder = join(folder, 'data')
  const child = spawn(command, [...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: dataFolder },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let url = ''
  for await (const line of createInterface({ input: child.stdout })) {
    url = urlIn(line)
    if (url !== '') break
  }
  if (url === '') {
    const [code, signal] = await exited
    throw new Error(
      `${[command, ...args].join(' ')} ended before it served (${signal ?? `exit code ${code}`}); stderr says why`,
    )
  }
  child.stdout.resume()
  const env = {
    PATH: process.env.PATH,
    COUNTERSIGN_URL: url,
    COUNTERSIGN_API_KEY: readFileSync(join(dataFolder, 'bootstrap-key'), 'utf8').trim(),
  }
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
  }
  return { port: Number(new URL(url).port), dataFolder, env, stop }
}

/** Empty where the line says none. */
function urlIn(line: string): string {
  try {
    return (JSON.parse(line) as { url?: string }).url ?? ''
  } catch {
    return ''
  }
}
