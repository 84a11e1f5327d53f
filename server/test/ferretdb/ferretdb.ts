/** FerretDB on a PostgreSQL that syncs each commit to its disk, both in processes of their own. */
import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '@countersign/testkit'
import { Child, type ChildOptions } from '../process/child.js'
import { type BuildInfoRelay, relayBuildInfo } from '../stores/mongodb/relay-build-info.js'

const BUILD = fileURLToPath(new URL('../../../tools/ferretdb/build', import.meta.url))
/** Where Debian installs each release of PostgreSQL. */
const RELEASES = '/usr/lib/postgresql'
/** It reads its whole log again after a kill. */
const START_MS = 60_000

export class Ferretdb {
  url = ''
  readonly #folder = mkdtempSync(join(tmpdir(), 'countersign-ferretdb-'))
  readonly #programs = programs()
  readonly #user = unprivilegedUser()
  #postgres: Child | undefined
  #ferretdb: Child | undefined
  #disguise: BuildInfoRelay | undefined

  /** A new one, without any database. */
  static async start(): Promise<Ferretdb> {
    const started = new Ferretdb()
    process.once('exit', () => started.#removeNow())
    await started.#initialize()
    await started.startPostgres()
    await started.#startFerretdb()
    return started
  }

  /** The URL of a database where it does not say that it is FerretDB: the store refuses it otherwise. */
  disguisedUrl(database: string): string {
    const url = new URL(this.#disguise?.url ?? '')
    url.pathname = `/${database}`
    return url.href
  }

  async startPostgres(): Promise<void> {
    const data = join(this.#folder, 'data')
    // A socket in a folder of its own: nobody else reaches it.
    const settings = [
      'listen_addresses=',
      `unix_socket_directories=${this.#folder}`,
      'fsync=on',
      'synchronous_commit=on',
    ]
    const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
    const postgres = new Child(join(this.#programs, 'postgres'), args, this.#options)
    this.#postgres = postgres
    await until(
      'PostgreSQL',
      () => {
        if (postgres.ending !== undefined) throw new Error(`PostgreSQL ended: ${postgres.stderr}`)
        return postgres.stderr.includes('ready to accept connections') || undefined
      },
      START_MS,
    )
  }

  /** SIGKILL, to PostgreSQL and all processes that it started. */
  async killPostgres(): Promise<void> {
    await this.#postgres?.kill()
  }

  /** Ends both, and removes what they stored. */
  async end(): Promise<void> {
    await Promise.all([this.#ferretdb?.kill(), this.#postgres?.kill(), this.#disguise?.close()])
    rmSync(this.#folder, { recursive: true, force: true })
  }

  get #options(): ChildOptions {
    return { cwd: this.#folder, ...(this.#user && { user: this.#user }) }
  }

  async #initialize(): Promise<void> {
    if (this.#user) chownSync(this.#folder, this.#user.uid, this.#user.gid)
    const args = ['-D', 'data', '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C']
    const initdb = new Child(join(this.#programs, 'initdb'), args, this.#options)
    const { code } = await initdb.end(START_MS)
    if (code !== 0) throw new Error(`initdb ended with exit code ${code}: ${initdb.stderr}`)
  }

  async #startFerretdb(): Promise<void> {
    // It is built before the tests begin: `npm run test:ferretdb`.
    const program = execFileSync(BUILD, { encoding: 'utf8' }).trim()
    const args = [`postgres:///postgres?host=${this.#folder}&user=postgres`]
    this.#ferretdb = new Child(program, args, { stdin: 'pipe' })
    const [, url = ''] = await this.#ferretdb.says(/^(mongodb:.*)\n/m)
    this.url = url
    this.#disguise = await relayBuildInfo(url, (found) =>
      Object.fromEntries(Object.entries(found).filter(([name]) => !name.startsWith('ferretdb'))),
    )
  }

  #removeNow(): void {
    for (const child of [this.#ferretdb, this.#postgres])
      if (child !== undefined && child.ending === undefined) child.process.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** The folder with the newest release of PostgreSQL. */
function programs(): string {
  const releases = readdirSync(RELEASES).sort((one, other) => Number(other) - Number(one))
  return join(RELEASES, releases[0] as string, 'bin')
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): ChildOptions['user'] {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}
