/**
 * CPU that a route of Express has added to it, per request: by `requirePermit` with the keys in its cache, and by `guard`
 * with a decision point on the other side of a connection that is kept (a process of its own, which answers at once). Beside
 * them the same route alone, and without any route the check of a permit, and the two calls of the client that a guard makes.
 * The cases take turns, and differences are taken inside a round, so that a busy machine slows all of them alike. Callers
 * have a process of their own.
 * Run: node bench/express.mjs
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Countersign } from '@countersign/client'
import { guard, permitErrors, requirePermit } from '@countersign/express'
import { createPermitVerifier, generateSigningKey, mintPermitSync, requestHash } from '@countersign/permit'
import express from 'express'

const SELF = fileURLToPath(import.meta.url)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const CONNECTIONS = 16
const REQUESTS = 300
const ISSUER = 'https://decide.example'
const asked = {
  agent_id: 'agent:support-7',
  action: 'payment.refund',
  resource: 'order:8812',
  context: { amount: 42.5 },
}

let minted = 0

await (process.argv[2] === 'callers' ? runCallers() : measureAll())

async function measureAll() {
  const decide = fork(fileURLToPath(new URL('parts/decision-point.mjs', import.meta.url)))
  const callers = fork(SELF, ['callers'])
  // Else a caller that waits for its next message would wait forever.
  for (const child of [decide, callers]) child.once('exit', (code) => code && process.exit(code))
  try {
    const [{ port: decidePort }] = await once(decide, 'message')
    const key = generateSigningKey()
    const client = new Countersign({ baseUrl: `http://127.0.0.1:${decidePort}`, apiKey: 'key-of-a-bench' })
    const server = createServer(app(client, key)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address()
    const cases = ['/bare', '/permit', '/guard']
    const measure = (path) => measureRoute(callers, { port, path, key, client })
    for (const path of cases) await measure(path)
    const rounds = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const results = new Map()
      for (let i = 0; i < cases.length; i += 1) {
        const path = cases[(i + round) % cases.length]
        results.set(path, await measure(path))
      }
      results.set('verify', await measureVerifier(key))
      results.set('calls', await measureCalls(client))
      rounds.push(results)
    }
    report(rounds)
    await client.flush()
    client.close()
    server.close()
    server.closeAllConnections()
  } finally {
    decide.kill()
    callers.kill()
  }
}

function app(client, key) {
  const about = {
    action: asked.action,
    resource: (req) => `order:${req.params.id}`,
    context: (req) => ({ amount: req.body.amount }),
  }
  const permits = { issuer: ISSUER, audience: ISSUER, jwks: async () => ({ keys: [key.publicJwk] }) }
  const handler = (req, res) => res.json({ refunded: req.body.amount })
  return express()
    .use(express.json())
    .post('/bare/:id', handler)
    .post('/permit/:id', requirePermit({ ...permits, ...about }), handler)
    .post('/guard/:id', guard({ client, agent_id: asked.agent_id, ...about }), handler)
    .use(permitErrors())
}

/** Each permit passes once, so each is minted before the clock starts. */
async function measureRoute(callers, { port, path, key, client }) {
  const permits = path === '/permit' ? Array.from({ length: REQUESTS }, () => mint(key)) : []
  callers.send({ port, path, permits })
  await once(callers, 'message')
  const before = process.cpuUsage()
  callers.send('go')
  await once(callers, 'message')
  // What became of the actions is told after their answers, and counts, too.
  await client.flush()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / REQUESTS
}

async function measureVerifier(key) {
  const { verify } = createPermitVerifier({ issuer: ISSUER, audience: ISSUER, jwks: { keys: [key.publicJwk] } })
  const permits = Array.from({ length: REQUESTS }, () => mint(key))
  const { action, resource } = asked
  const before = process.cpuUsage()
  for (const permit of permits) await verify(permit, { action, resource, request_hash: requestHash(asked) })
  const { user, system } = process.cpuUsage(before)
  return (user + system) / REQUESTS
}

async function measureCalls(client) {
  let left = REQUESTS
  const callOn = async () => {
    while (left-- > 0) {
      const { id } = await client.authorize(asked)
      await client.decisions.confirm(id)
    }
  }
  const before = process.cpuUsage()
  await Promise.all(Array.from({ length: CONNECTIONS }, callOn))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / REQUESTS
}

function mint(key) {
  minted += 1
  const iat = Math.floor(Date.now() / 1000)
  const hash = requestHash(asked)
  return mintPermitSync(key, {
    iss: ISSUER,
    sub: asked.agent_id,
    aud: ISSUER,
    iat,
    exp: iat + 300,
    jti: `dec_${String(minted).padStart(26, '0')}`,
    action: asked.action,
    resource: asked.resource,
    effect: 'allow',
    policy_id: 'pol_01kagx3v5ne8sr6w1y6gqk4t2h',
    policy_revision: 1,
    request_hash: hash,
    audit: { log: 'a1', index: 12, leaf: hash },
  })
}

function report(rounds) {
  const us = (of) => `${median(rounds.map(of)).toFixed(0)} us`.padStart(10)
  const of = (name) => (round) => round.get(name)
  const added = (name) => (round) => round.get(name) - round.get('/bare')
  console.log(`CPU per request of the process with the routes, medians of ${ROUNDS} rounds of ${REQUESTS} requests\n`)
  console.log('route                              whole     added')
  console.log(`POST with a JSON body         ${us(of('/bare'))}`)
  console.log(`  with requirePermit          ${us(of('/permit'))}${us(added('/permit'))}`)
  console.log(`  with guard                  ${us(of('/guard'))}${us(added('/guard'))}`)
  console.log('without a route')
  console.log(`  the check of a permit       ${us(of('verify'))}`)
  console.log(`  authorize and confirm       ${us(of('calls'))}`)
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}

/** The process of the callers: they write ready-made bytes, and read as little as they can. */
function runCallers() {
  const body = JSON.stringify({ amount: asked.context.amount })
  const bytesOf = (path, permit) =>
    Buffer.from(
      `POST ${path}/8812 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
        `${permit === undefined ? '' : `Authorization: Bearer ${permit}\r\n`}\r\n${body}`,
    )
  const callOn = async (socket, requests) => {
    for (let next = requests.pop(); next !== undefined; next = requests.pop()) {
      socket.write(next)
      const [answer] = await once(socket, 'data')
      if (!answer.startsWith('HTTP/1.1 200')) throw new Error(answer)
    }
    socket.destroy()
  }
  process.on('message', async (message) => {
    if (message === 'go') return
    const { port, path, permits } = message
    const requests = Array.from({ length: REQUESTS }, (_, at) => bytesOf(path, permits[at]))
    const sockets = Array.from({ length: CONNECTIONS }, () =>
      connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1'),
    )
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    process.send('ready')
    await once(process, 'message')
    await Promise.all(sockets.map((socket) => callOn(socket, requests)))
    process.send('done')
  })
}
