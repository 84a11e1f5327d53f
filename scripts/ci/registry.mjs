/**
 * A registry on this machine alone, with nothing in it: what it is sent under our names, and everything else from the registry that npm
 * uses here. Its files are removed when it ends.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installArgs } from './install-args.mjs'

/** The newest version for Node 20. */
const VERDACCIO = '6.8.0'
/** One of its packages wants `node-fetch` by a name that not every registry knows. */
const OVERRIDES = { 'node-fetch': '2.7.0' }

/** @typedef {{ url: string, token: string, stop: () => void }} Registry */

/** @returns {Promise<Registry>} `token` may publish */
export async function startRegistry() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-registry-'))
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, overrides: OVERRIDES }))
    execFileSync('npm', installArgs(folder, [`verdaccio@${VERDACCIO}`]), { stdio: 'inherit' })
    const { runServer } = createRequire(join(folder, 'package.json'))('verdaccio')
    /** @type {import('node:http').Server} */
    const server = await runServer(settings(folder))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
    const url = `http://127.0.0.1:${port}`
    const stop = () => {
      server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true, force: true })
    }
    return { url, token: await signUp(url), stop }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** @param {string} folder */
function settings(folder) {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { cwd: folder, encoding: 'utf8' }).trim()
  const storage = join(folder, 'storage')
  mkdirSync(storage)
  const ours = { access: '$all', publish: '$authenticated' }
  return {
    configPath: join(folder, 'config.yaml'),
    storage,
    auth: { htpasswd: { file: join(folder, 'htpasswd'), max_users: 1 } },
    uplinks: { upstream: { url: upstream, timeout: '60s', maxage: '60m' } },
    packages: {
      // Somebody else may have these names there.
      '@countersign/*': ours,
      countersign: ours,
      'countersign-mcp': ours,
      '**': { access: '$all', proxy: 'upstream' },
    },
    web: { enable: false },
    log: { type: 'stdout', format: 'pretty', level: 'fatal' },
  }
}

/**
 * @param {string} url
 * @returns {Promise<string>}
 */
async function signUp(url) {
  const answer = await fetch(`${url}/-/user/org.couchdb.user:publisher`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'publisher', password: 'only-for-this-run' }),
  })
  const { token } = /** @type {{ token?: unknown }} */ (await answer.json())
  if (typeof token !== 'string') throw new Error(`The registry answered ${answer.status} to a new user`)
  return token
}
