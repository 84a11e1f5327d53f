/** A folder that has nothing of this checkout, and a decision point of its own: for tests of what is packed. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * A new project of modules that has the packages in these folders, packed as npm does it, and links to what a registry would
 * bring. Resolves with its folder.
 */
export async function projectWith(packed: readonly string[], linked: readonly string[]): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'countersign-project-'))
  const modules = join(project, 'node_modules')
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  for (const from of packed) {
    const target = join(modules, '@countersign', basename(from))
    const tarball = await packInto(target, from)
    await run('tar', ['--extract', '--strip-components=1', '--file', tarball], { cwd: target })
    await rm(tarball)
  }
  for (const name of linked) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  }
  return project
}

/** Packs what is in a folder of this checkout, as npm does it. Resolves with the path of the tarball. */
export async function packInto(target: string, from: string): Promise<string> {
  await mkdir(target, { recursive: true })
  const args = ['pack', '--ignore-scripts', '--pack-destination', target, '--loglevel', 'error']
  const { stdout } = await run('npm', args, { cwd: join(ROOT, from) })
  return join(target, stdout.trim())
}

/** What the compiler says of a program in that project, in its strict mode with the defaults of Node; empty when it is fine. */
export async function compileIn(project: string, program: string, options: object): Promise<string> {
  const node = { module: 'nodenext', target: 'es2022', lib: ['es2023'], types: ['node'], strict: true, noEmit: true }
  const config = { compilerOptions: { ...node, ...options }, files: ['program.ts'] }
  await writeFile(join(project, 'program.ts'), program)
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify(config))
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', '.'], { cwd: project }).catch((error) => error)
  return stdout
}

/**
 * Runs an `npm install` offline: a package that a registry would bring is linked from this checkout, unless its path is given. What is meant for the whole
 * machine is installed in the project, too.
 */
export async function installIn(project: string, command: string): Promise<void> {
  const words = command
    .replace(/ +#.*/, '')
    .split(' ')
    .slice(2)
    .filter((word) => word !== '--global')
  const installed = (name: string) => join(ROOT, 'node_modules', name.replace(/(?<=.)@[\d.]+$/, ''))
  const args = words.map((word) => (/^[-/]|\.tgz$/.test(word) ? word : installed(word)))
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
