/** Agents call the tools of a gated shop over both transports. Exits 1 when it comes out differently. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Countersign } from '@countersign/client'
import { Client as ClientV2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { startDecisionPoint } from '../decision-point.mjs'

const SERVER = fileURLToPath(new URL('server.mjs', import.meta.url))
const HTTP_SERVER = fileURLToPath(new URL('http-server.mjs', import.meta.url))
const INFO = { name: 'story', version: '1.0.0' }

const { url, apiKey, stop } = await startDecisionPoint()
const folder = mkdtempSync(join(tmpdir(), 'countersign-shop-'))
const bank = join(folder, 'bank')
writeFileSync(bank, '')
try {
  const admin = new Countersign({ baseUrl: url, apiKey })
  const refunds = await admin.policies.create({
    name: 'refunds',
    agents: ['agent:desk-*'],
    rules: [
      { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $gt: 0, $lte: 100 } } },
      { action: 'payment.refund', effect: 'review', conditions: { 'context.amount': { $gt: 0, $lte: 1000 } } },
    ],
    budget: { limit: 500, unit: 'EUR', period: 'total' },
  })
  await admin.policies.create({ name: 'searching', rules: [{ action: 'order.search', effect: 'log' }] })
  await admin.policies.create({ name: 'opening hours', rules: [{ action: 'hours.read', effect: 'allow' }] })
  // One key asks for the agents, another one answers for people.
  const asking = await admin.keys.create({ name: 'shop', scopes: ['decisions:write'] })
  const answering = await admin.keys.create({ name: 'Ada', scopes: ['reviews:write'] })
  const ada = new Countersign({ baseUrl: url, apiKey: answering.key })
  const env = { PATH: process.env.PATH, COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: asking.key, BANK: bank }
  const expectBudget = async (expected) => {
    const [{ spent, reserved, remaining }] = (await admin.policies.budget(refunds.id).page()).data
    assert.deepEqual({ spent, reserved, remaining }, expected)
    tell(`  budget: spent ${spent}, reserved ${reserved}, left ${remaining}`)
  }

  tell('A server of SDK 1.x, on standard input and output')
  const desk = new Client(INFO)
  await desk.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [SERVER],
      env: { ...env, COUNTERSIGN_AGENT_ID: 'agent:desk-1' },
    }),
  )
  await expectCall(desk, ['find_order', { order: '8812' }], { text: 'paid 42.50', effect: 'log' })
  await expectCall(desk, ['refund', { order: '8812', amount: 42.5 }], { text: 'refunded 42.50', effect: 'allow' })
  await expectCall(desk, ['refund', { order: '8812', amount: 5000 }], { refused: 'denied', effect: 'deny' })
  await expectCall(desk, ['close_shop', {}], { refused: 'unmapped', effect: 'deny' })
  const { contents } = await desk.readResource({ uri: 'shop://hours' })
  assert.equal(contents[0].text, 'Open from 9 to 5.')
  tell(`  read shop://hours: ${contents[0].text}`)
  await assert.rejects(desk.readResource({ uri: 'shop://takings' }), ({ code, message }) => {
    tell(`  read shop://takings: ${message.slice(message.indexOf('The call'))}`)
    return code === -32003
  })
  await expectBudget({ spent: 42.5, reserved: 0, remaining: 457.5 })

  tell('\nA refund of 400 needs a person')
  const large = ['refund', { order: '8813', amount: 400 }]
  const first = await expectCall(desk, large, { refused: 'review_required', effect: 'review' })
  assert.equal(await expectCall(desk, large, { refused: 'review_required', effect: 'review' }), first)
  await ada.decisions.approve(first, { comment: 'checked the order' })
  tell('  Ada approves')
  assert.equal(await expectCall(desk, large, { text: 'refunded 400.00', effect: 'review' }), first)
  const second = await expectCall(desk, large, { refused: 'review_required', effect: 'review' })
  assert.notEqual(second, first)
  tell('  the repeated call is a new question, and Ada declines it')
  await ada.decisions.decline(second, { comment: 'once is enough' })
  assert.equal(await expectCall(desk, large, { refused: 'declined', effect: 'deny' }), second)
  await expectBudget({ spent: 442.5, reserved: 0, remaining: 57.5 })

  tell('\nThe policy allows a refund of 90, but the budget does not')
  await expectCall(desk, ['refund', { order: '8814', amount: 90 }], { refused: 'denied', effect: 'deny' })
  await desk.close()

  tell('\nA server of SDK 2.x, over HTTP: each authenticated client is an agent')
  const tokens = { 'token-of-desk-2': 'agent:desk-2', 'token-of-guest': 'agent:guest' }
  const shop = await startHttpServer({ ...env, TOKENS: JSON.stringify(tokens) })
  try {
    const [desk2, guest] = await Promise.all(Object.keys(tokens).map((token) => connectOverHttp(shop.url, token)))
    await expectCall(desk2, ['refund', { order: '8814', amount: 20 }], { text: 'refunded 20.00', effect: 'allow' })
    await expectCall(guest, ['refund', { order: '8814', amount: 20 }], { refused: 'denied', effect: 'deny' })
    await expectCall(guest, ['find_order', { order: '8814' }], { text: 'paid 90.00', effect: 'log' })
    await assert.rejects(connectOverHttp(shop.url, 'token-of-nobody'), ({ status }) => status === 401)
    tell('  with an unknown token: 401')
    await Promise.all([desk2.close(), guest.close()])
  } finally {
    await shop.stop()
  }
  await expectBudget({ spent: 462.5, reserved: 0, remaining: 37.5 })

  const booked = readFileSync(bank, 'utf8').trim().split('\n')
  assert.deepEqual(booked, ['order:8812 42.50', 'order:8813 400.00', 'order:8814 20.00'])
  tell(`\nAt the bank: ${booked.join(', ')}. Nothing else.`)
} finally {
  await stop()
  rmSync(folder, { recursive: true, force: true })
}

/**
 * Makes a call; `refused` is the reason where it has to be refused. Resolves with the id of the decision.
 *
 * @returns {Promise<string | null>}
 */
async function expectCall(client, [name, args], { text, refused, effect }) {
  const { isError = false, content, _meta } = await client.callTool({ name, arguments: args })
  const { id, ...decision } = _meta['countersign/decision']
  const said = content[0].text
  tell(`  ${[name, ...Object.values(args)].join(' ')}: ${said.replace(/dec_\w+/g, 'dec_…')}`)
  assert.deepEqual([isError, decision], [refused !== undefined, { effect, ...(refused && { reason: refused }) }])
  if (text !== undefined) assert.equal(said, text)
  else if (id !== null) assert.ok(said.includes(id))
  return id
}

/** Resolves once it listens. `stop` ends it. */
async function startHttpServer(env) {
  const child = spawn(process.execPath, [HTTP_SERVER], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    const stop = async () => {
      child.kill('SIGTERM')
      await exited
    }
    return { url: line, stop }
  }
  throw new Error('The shop ended before it listened.')
}

/** Speaks the protocol of 2026-07-28, where each request stands for itself. */
async function connectOverHttp(at, token) {
  const client = new ClientV2(INFO, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: { Authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(at), { requestInit }))
  return client
}

function tell(line) {
  console.log(line)
}
