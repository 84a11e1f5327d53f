/** The machine of a newcomer: an empty home with an empty cache of npm, the registry, and the Node of the PATH. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../free-port.mjs'

export class Machine {
  /** The folder that `npx countersign` is typed in. */
  serverFolder
  /** @type {Record<string, string>} */
  env

  /**
   * @param {string} registry
   * @param {number} port that the server listens on
   */
  constructor(registry, port) {
    this.port = port
    this.home = mkdtempSync(join(tmpdir(), 'countersign-newcomer-'))
    this.serverFolder = this.emptyFolder('server')
    this.env = {
      PATH: process.env.PATH ?? '',
      HOME: this.home,
      PORT: `${port}`,
      npm_config_registry: registry,
      npm_config_cache: join(this.home, 'npm-cache'),
      npm_config_update_notifier: 'false',
    }
  }

  /** @param {string} registry */
  static async open(registry) {
    return new Machine(registry, await freePort())
  }

  get url() {
    return `http://127.0.0.1:${this.port}`
  }

  /** Where the server keeps its data. */
  get dataFolder() {
    return join(this.serverFolder, 'data')
  }

  get nodeVersion() {
    return this.run('node --version', this.home).trim().slice(1)
  }

  /** @param {string} name */
  emptyFolder(name) {
    const folder = join(this.home, name)
    mkdirSync(folder)
    return folder
  }

  /**
   * @param {string} script
   * @param {string} cwd
   * @param {Record<string, string>} [more]
   * @returns {string} what it printed
   */
  run(script, cwd, more = {}) {
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
      cwd,
      encoding: 'utf8',
      env: { ...this.env, ...more },
    })
    if (status === 0) return stdout
    throw new Error(`exit code ${status} of\n${script}\n${stdout}\n${stderr}`)
  }

  remove() {
    // What npm had begun when something failed ends by itself.
    rmSync(this.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }
}
