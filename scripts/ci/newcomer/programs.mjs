import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../free-port.mjs'
import { blocksOf, pinned, runPage, textOf } from './pages.mjs'

/** The pages of those who write a program, with what each has to print. Express has its own way below. */
const PAGES = ['packages/client', 'integrations/langchain', 'integrations/mcp']

/**
 * Each page in a folder of its own, with the server of docs/install.md.
 * @param {import('./machine.mjs').Machine} machine
 * @param {string} key
 */
export async function checkPrograms(machine, key) {
  const server = { COUNTERSIGN_URL: machine.url, COUNTERSIGN_API_KEY: key }
  for (const page of PAGES) {
    const blocks = blocksOf(page).filter(({ command }) => !command.startsWith('countersign'))
    runPage(machine, `${page}/README.md`, blocks, machine.emptyFolder(page.replace('/', '-')), server)
  }
  await checkExpress(machine, server)
}

/**
 * The page names two files; its app listens until it is ended.
 * @param {import('./machine.mjs').Machine} machine
 * @param {Record<string, string>} server
 */
async function checkExpress(machine, server) {
  const page = 'integrations/express'
  const folder = machine.emptyFolder('express')
  const programs = textOf(`${page}/README.md`).split('```js\n').slice(1)
  for (const [i, name] of ['policy.mjs', 'app.mjs'].entries())
    writeFileSync(join(folder, name), programs[i]?.split('```')[0] ?? '')
  const commands = blocksOf(page).map(({ command }) => command)
  const [installs = '', refunds = ''] = ['npm install', 'refund()'].map((word) =>
    commands.find((command) => command.startsWith(word)),
  )
  machine.run(`${pinned(installs)}\nnode policy.mjs`, folder, server)
  const appPort = await freePort()
  const app = spawn('node', ['app.mjs'], { cwd: folder, env: { ...machine.env, ...server, PORT: `${appPort}` } })
  const exited = once(app, 'exit')
  await once(app.stdout, 'data')
  const answers = machine.run(refunds.replaceAll(':3000', `:${appPort}`), folder, server)
  app.kill()
  await exited
  const found = ['"refunded":"17"', '"code":"review_required"', '"code":"denied"'].filter((part) =>
    answers.includes(part),
  )
  if (found.length !== 3) throw new Error(`${page}/README.md says something else than ${answers}`)
  console.log(`${page}/README.md: installed, and the app answered its three calls as the page says`)
}
