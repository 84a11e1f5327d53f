/** Agents ask, a chat shows what waits for a person, and people answer by a link. Exits 1 when it comes out differently. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, Countersign, NotPermittedError } from '@countersign/client'
import { startDecisionPoint } from '../decision-point.mjs'
import { EVENTS, reviewChat } from './review-chat.mjs'

const action = 'payment.refund'
/** An agent chooses the name of a resource, and may try anything. */
const HOSTILE = 'order:8814<img src=x onerror=alert(1)>'
const SHOWN_WITHIN_MS = 10_000

// The chat is on this machine, so its address is not public.
const { url, apiKey, stop } = await startDecisionPoint({ WEBHOOK_ALLOW_PRIVATE: '1' })
const chat = createServer().listen(0, '127.0.0.1')
await once(chat, 'listening')
const chatUrl = `http://127.0.0.1:${chat.address().port}`
const bank = []
try {
  const admin = new Countersign({ baseUrl: url, apiKey })
  const clientWith = async (key) => new Countersign({ baseUrl: url, apiKey: (await admin.keys.create(key)).key })
  const bot = await clientWith({ name: 'support bot', scopes: ['decisions:write'], agents: ['agent:support-*'] })
  const operator = await clientWith({ name: 'operator', scopes: ['webhooks:write'] })
  const forChat = await clientWith({ name: 'chat', scopes: ['reviews:write'] })
  const ada = await clientWith({ name: 'Ada', scopes: ['reviews:write'] })
  await admin.policies.create({
    name: 'refunds',
    agents: ['agent:support-*'],
    rules: [{ action, effect: 'allow', conditions: { 'context.amount': { $gt: 0, $lte: 1000 } } }],
    budget: { limit: 100, unit: 'EUR', period: 'total', on_exceed: 'review' },
  })

  const { secret } = await operator.webhooks.create({ url: `${chatUrl}/countersign`, events: EVENTS })
  chat.on('request', reviewChat({ client: forChat, secret }))
  await assert.rejects(forChat.decisions.list().page(), isRefusal('insufficient_scope'))

  tell('An agent refunds within its budget: nobody is asked')
  const within = await refund(bot, 'order:8811', 60)
  assert.equal(await within.ended, 'refunded')
  expectTransfers(['order:8811 60.00'])

  tell('Three refunds are more than what is left')
  const first = await refund(bot, 'order:8812', 80)
  const second = await refund(bot, 'order:8813', 90)
  const third = await refund(bot, HOSTILE, 70)
  await eventually(async () => (await messages()).length === 3)
  for (const { lines } of await messages()) tell(`  | ${lines.join(' | ')}`)
  assert.ok(!(await read('/')).text.includes('<img'))

  tell('\nLink previews open every link, and somebody without the secret posts a message of their own')
  const links = (await messages()).map(({ link }) => link)
  for (const link of [...links, ...links]) assert.equal((await read(link)).status, 200)
  const forged = { type: 'decision.approved', timestamp: new Date().toISOString(), sequence: 9, data: {} }
  assert.equal((await post('/countersign', JSON.stringify(forged), 'application/json')).status, 400)
  for (const { id } of [first, second, third]) assert.equal((await admin.decisions.get(id)).status, 'awaiting_review')
  tell('  all three still wait')

  tell('\nPeople open the links and press a button')
  const approveLink = await linkOf('order:8812')
  await pressTwice(approveLink, 'approve')
  assert.equal(await first.ended, 'refunded')
  await press(await linkOf('order:8813'), 'decline', 200, 'You have declined it.')
  assert.equal(await second.ended, 'declined')
  await press(approveLink, 'decline', 410, 'This review is closed.')
  await press(`/reviews/${'A'.repeat(43)}`, 'approve', 410, 'This review is closed.')

  tell('\nAda answers the third one without the chat')
  const unused = await linkOf('order:8814')
  await ada.decisions.decline(third.id, { comment: 'no such order' })
  assert.equal(await third.ended, 'declined')
  await eventually(async () => (await stateOf('order:8814')).startsWith('declined'))
  await press(unused, 'approve', 410, 'This review is closed.')

  tell('\nWhat the chat says now')
  const states = await Promise.all(['order:8812', 'order:8813', 'order:8814'].map(stateOf))
  assert.deepEqual(states, ['approved here', 'declined here', 'declined elsewhere: no such order'])
  for (const state of states) tell(`  ${state}`)
  expectTransfers(['order:8811 60.00', 'order:8812 80.00'])
  tell('What was approved was refunded, and nothing else.')
} finally {
  await stop()
  chat.closeAllConnections()
  chat.close()
}

/** What the agent does: asks, waits for a person if it has to, and pays only with a permit. Resolves once it has asked. */
async function refund(client, resource, amount) {
  const decision = await client.authorize({ agent_id: 'agent:support-7', action, resource, context: { amount } })
  const run = async () => {
    try {
      const permitted = await client.decisions.waitForReview(decision)
      bank.push(`${resource} ${amount.toFixed(2)}`)
      await client.decisions.confirm(permitted.id, { amount })
      return 'refunded'
    } catch (error) {
      if (NotPermittedError.isInstance(error)) return error.reason
      throw error
    }
  }
  const ended = run()
  // A caller that awaits it learns of the fault. Until then the story goes on, or ends in order.
  ended.catch(() => undefined)
  return { id: decision.id, ended }
}

/** What a person sees of each message: its lines, and the link while there is one. */
async function messages() {
  const { text } = await read('/')
  return [...text.matchAll(/<article>(.*?)<\/article>/gs)].map(([, article]) => ({
    lines: [...article.matchAll(/<p>(.*?)<\/p>/gs)].map(([, line]) => shown(line)),
    link: /href="([^"]+)"/.exec(article)?.[1],
  }))
}

async function messageAbout(resource) {
  const found = (await messages()).filter(({ lines }) => lines[0].includes(resource))
  assert.equal(found.length, 1)
  return found[0]
}

async function linkOf(resource) {
  const { link } = await messageAbout(resource)
  assert.ok(link)
  return link
}

async function stateOf(resource) {
  return (await messageAbout(resource)).lines.at(-1)
}

/** As a browser shows it. */
function shown(html) {
  return html.replace(/<[^>]*>/g, '').replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
}

async function press(link, button, status, sentence) {
  const answer = await postForm(link, button)
  assert.deepEqual(answer, { status, title: sentence })
  tell(`  ${button}: ${sentence}`)
}

async function postForm(link, button) {
  const { status, text } = await post(link, `answer=${button}`, 'application/x-www-form-urlencoded')
  return { status, title: shown(/<h1>(.*?)<\/h1>/s.exec(text)[1]) }
}

/** A double click, or two people at once. */
async function pressTwice(link, button) {
  const answers = await Promise.all([postForm(link, button), postForm(link, button)])
  const titles = answers
    .sort((one, other) => one.status - other.status)
    .map(({ status, title }) => `${status} ${title}`)
  assert.deepEqual(titles, ['200 You have approved it.', '410 This review is closed.'])
  tell(`  ${button}, twice at once: ${answers.map(({ title }) => title).join(' ')}`)
}

function read(path) {
  return answerOf(fetch(`${chatUrl}${path}`))
}

function post(path, body, contentType) {
  return answerOf(fetch(`${chatUrl}${path}`, { method: 'POST', headers: { 'content-type': contentType }, body }))
}

async function answerOf(answering) {
  const answer = await answering
  return { status: answer.status, text: await answer.text() }
}

async function eventually(isSo) {
  const endMs = performance.now() + SHOWN_WITHIN_MS
  while (!(await isSo())) {
    assert.ok(performance.now() < endMs, 'The chat does not show it.')
    await pause(50)
  }
}

function expectTransfers(expected) {
  assert.deepEqual(bank, expected)
  tell(`  at the bank: ${bank.join(', ')}\n`)
}

function isRefusal(code) {
  return (error) => ApiError.isInstance(error) && error.code === code
}

function tell(line) {
  console.log(line)
}
