/**
 * Other decision points, each asked what we are asked, with a token, as its own guide has it. Those that are on the PATH are
 * started; nothing is fetched. Neither signs what it answers, nor has it on a disk before.
 */
import { spawn } from 'node:child_process'
import { accessSync, constants, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ALLOWED_ACTIONS, agentsOf, CURRENCIES, HIGHEST_AMOUNT, POLICIES, requests } from './question.mjs'
import { KEY } from './server.mjs'

const START_MS = 60_000
const AUTHORIZED = { authorization: `Bearer ${KEY}` }

/**
 * Starts those that there are; `children` gets their processes, whose end is the caller's. `callOf` tells what a request is for
 * them, and `needle` is in an answer that allows it.
 *
 * @typedef {{ name: string, server: { port: number, pid: number }, callOf: (request) => { path: string, body: object }, needle: string }} Peer
 * @returns {Promise<{ open: Peer[], absent: string[] }>}
 */
export async function openPeers(directory, children, names = Object.keys(PEERS)) {
  const peers = { open: [], absent: [] }
  for (const name of names) {
    const { command, start, options } = PEERS[name]
    const program = onPath(command)
    if (program === null) {
      peers.absent.push(name)
      continue
    }
    const folder = join(directory, name)
    mkdirSync(folder)
    peers.open.push({ name, ...(await start(program, folder, children, options)) })
  }
  return peers
}

const PEERS = {
  OPA: { command: 'opa', start: startOpa, options: ['--set=decision_logs.console=true'] },
  'OPA, no decision log': { command: 'opa', start: startOpa, options: [] },
  OpenFGA: { command: 'openfga', start: startOpenFga },
}

/** The requests as bytes for a peer. */
export function bytesFor({ server, callOf }, asked) {
  return asked.map((request) => {
    const { path, body } = callOf(request)
    const text = JSON.stringify(body)
    return (
      `POST ${path} HTTP/1.1\r\naccept: application/json\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\n` +
      `Host: 127.0.0.1:${server.port}\r\nConnection: keep-alive\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
    )
  })
}

function onPath(command) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, command)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // The next folder may have it.
    }
  }
  return null
}

/** A token for each request. What it says on standard output, such as its log of decisions, goes to a file. */
async function startOpa(program, folder, children, options) {
  const rego = `package countersign

import rego.v1

default allow := false

allow if {
	some rule in data.policies[data.agents[input.agent_id]].rules
	glob.match(rule.action, null, input.action)
	input.context.amount <= rule.highest_amount
	input.context.currency in rule.currencies
}
`
  const authz = `package system.authz

import rego.v1

default allow := false

allow if input.identity == data.token
`
  const rules = ALLOWED_ACTIONS.map((action) => ({ action, highest_amount: HIGHEST_AMOUNT, currencies: CURRENCIES }))
  const everyPolicy = Array.from({ length: POLICIES }, (_, at) => at)
  const data = {
    token: KEY,
    policies: Object.fromEntries(everyPolicy.map((at) => [`policy ${at}`, { rules }])),
    agents: Object.fromEntries(everyPolicy.flatMap((at) => agentsOf(at).map((agent) => [agent, `policy ${at}`]))),
  }
  for (const [name, text] of Object.entries({
    'allow.rego': rego,
    'authz.rego': authz,
    'data.json': JSON.stringify(data),
  }))
    writeFileSync(join(folder, name), text)
  const port = await freePort()
  const server = started(program, folder, children, [
    ...['run', '--server', '--addr', `127.0.0.1:${port}`, '--authentication=token', '--authorization=basic'],
    ...[...options, '--log-level=error', '--skip-version-check', 'allow.rego', 'authz.rego', 'data.json'],
  ])
  const path = '/v1/data/countersign/allow'
  await answers(server, `http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: AUTHORIZED,
    body: JSON.stringify({ input: requests[0] }),
  })
  return { server: { ...server, port }, callOf: (input) => ({ path, body: { input } }), needle: '"result":true' }
}

/** A preshared key, and a store in memory. An agent may take an action under a condition on the amount and its currency. */
async function startOpenFga(program, folder, children) {
  const [port, grpc] = [await freePort(), await freePort()]
  const server = started(program, folder, children, [
    ...['run', `--http-addr=127.0.0.1:${port}`, `--grpc-addr=127.0.0.1:${grpc}`, '--datastore-engine=memory'],
    ...[
      '--authn-method=preshared',
      `--authn-preshared-keys=${KEY}`,
      '--playground-enabled=false',
      '--metrics-enabled=false',
    ],
  ])
  const url = `http://127.0.0.1:${port}/stores`
  const headers = { ...AUTHORIZED, 'content-type': 'application/json' }
  const post = async (path, body) => {
    const res = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!res.ok) throw new Error(await res.text())
    return res.json()
  }
  await answers(server, url, { headers })
  const { id } = await post('', { name: 'bench' })
  const { authorization_model_id } = await post(`/${id}/authorization-models`, MODEL)
  const limits = { highest_amount: HIGHEST_AMOUNT, currencies: CURRENCIES }
  const condition = { name: 'within_limits', context: limits }
  const agents = Array.from({ length: POLICIES }, (_, at) => agentsOf(at)).flat()
  const actions = [...new Set(requests.map(({ action }) => action))]
  const tuples = agents.flatMap((user) =>
    actions.map((action) => ({ user, relation: 'can_take', object: `action:${action}`, condition })),
  )
  while (tuples.length > 0)
    await post(`/${id}/write`, { writes: { tuple_keys: tuples.splice(0, 100) }, authorization_model_id })
  const callOf = ({ agent_id, action, context }) => {
    const tuple_key = { user: agent_id, relation: 'can_take', object: `action:${action}` }
    return { path: `/stores/${id}/check`, body: { tuple_key, authorization_model_id, context } }
  }
  return { server: { ...server, port }, callOf, needle: '"allowed":true' }
}

const MODEL = {
  schema_version: '1.1',
  type_definitions: [
    { type: 'agent' },
    {
      type: 'action',
      relations: { can_take: { this: {} } },
      metadata: {
        relations: { can_take: { directly_related_user_types: [{ type: 'agent', condition: 'within_limits' }] } },
      },
    },
  ],
  conditions: {
    within_limits: {
      name: 'within_limits',
      expression: 'amount <= highest_amount && currency in currencies',
      parameters: {
        amount: { type_name: 'TYPE_NAME_DOUBLE' },
        highest_amount: { type_name: 'TYPE_NAME_DOUBLE' },
        currency: { type_name: 'TYPE_NAME_STRING' },
        currencies: { type_name: 'TYPE_NAME_LIST', generic_types: [{ type_name: 'TYPE_NAME_STRING' }] },
      },
    },
  },
}

/** What it says goes to a file. */
function started(program, folder, children, args) {
  const log = openSync(join(folder, 'log'), 'w')
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', log, log] })
  children.push(child)
  return { child, pid: child.pid, isOfNode: false }
}

/** Waits until a request is answered. */
async function answers({ child }, url, init) {
  for (const until = performance.now() + START_MS; ; await pause(50)) {
    const res = await fetch(url, init).catch(() => null)
    await res?.arrayBuffer()
    if (res?.ok) return
    if (child.exitCode !== null || performance.now() > until) {
      child.kill()
      throw new Error(`${child.spawnfile} did not start: ${res?.status}`)
    }
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })
}
