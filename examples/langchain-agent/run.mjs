/** A support agent refunds, waits for a person over a restart, and is lied to. Exits 1 when it comes out differently. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Countersign } from '@countersign/client'
import { startDecisionPoint } from '../decision-point.mjs'

const TURN = fileURLToPath(new URL('turn.mjs', import.meta.url))

const { url, apiKey, stop } = await startDecisionPoint()
const folder = mkdtempSync(join(tmpdir(), 'countersign-agent-'))
const [bank, outbox] = ['bank', 'outbox'].map((name) => {
  const file = join(folder, name)
  writeFileSync(file, '')
  return file
})
try {
  const admin = new Countersign({ baseUrl: url, apiKey })
  const refunds = await admin.policies.create({
    name: 'refunds',
    agents: ['agent:support-*'],
    rules: [
      { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $gt: 0, $lte: 100 } } },
      { action: 'payment.refund', effect: 'review', conditions: { 'context.amount': { $gt: 0, $lte: 1000 } } },
    ],
    budget: { limit: 500, unit: 'EUR', period: 'total' },
  })
  await admin.policies.create({
    name: 'support',
    agents: ['agent:support-*'],
    rules: [
      { action: 'order.search', effect: 'log' },
      { action: 'email.send', resource: 'mailbox:*@customers.example', effect: 'allow' },
    ],
  })
  // One key asks for the agent, another one answers for people.
  const bot = await admin.keys.create({ name: 'support bot', scopes: ['decisions:write'], agents: ['agent:support-*'] })
  const { key } = await admin.keys.create({ name: 'Ada', scopes: ['reviews:write', 'decisions:read'] })
  const ada = new Countersign({ baseUrl: url, apiKey: key })

  const env = { CHECKPOINTS: join(folder, 'checkpoints'), BANK: bank, OUTBOX: outbox }
  const asBot = { ...env, COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: bot.key }
  const expectTurn = async ({ thread, says, results = [], answer }) => {
    const turn = await runTurn({ ...asBot, THREAD: thread, ...(says && { SAYS: says }) })
    if (says) tell(`  user: ${says}`)
    for (const { call, result } of turn.steps) tell(`  ${call}: ${result.replaceAll(/\n+/g, ' ')}`)
    for (const { question } of turn.waiting) tell(`  waits: ${question}`)
    if (turn.says) tell(`  agent: ${turn.says}`)
    assert.deepEqual(
      [turn.steps.filter(({ call }) => !call.startsWith('search')).map(({ result }) => result), turn.says],
      [results, answer],
    )
    return turn.waiting
  }
  const expectBudget = async (expected) => {
    const [{ spent, reserved, remaining }] = (await admin.policies.budget(refunds.id).page()).data
    assert.deepEqual({ spent, reserved, remaining }, expected)
    tell(`  budget: spent ${spent}, reserved ${reserved}, left ${remaining}`)
  }

  tell('Kim gets what the policy allows')
  const kimSays = 'Please refund 42.50 for order 8812 and e-mail kim@customers.example about it'
  await expectTurn({ thread: 'kim', says: kimSays, results: ['refunded 42.50', 'sent'], answer: 'Done.' })
  await expectBudget({ spent: 42.5, reserved: 0, remaining: 457.5 })

  tell('\nLee asks for more: a person has to decide')
  const [asked] = await expectTurn({ thread: 'lee', says: 'Please refund 400 for order 8813', answer: '' })
  await ada.decisions.approve(asked.decision_id, { comment: 'checked the order' })
  tell('  Ada approves; a new process resumes it')
  const words = 'The reviewer wrote: "checked the order"'
  await expectTurn({ thread: 'lee', results: [`refunded 400.00\n\n${words}`], answer: 'Done.' })
  await expectBudget({ spent: 442.5, reserved: 0, remaining: 57.5 })

  tell('\nSam asks for more, too, and somebody resumes it before a person has decided')
  await expectTurn({ thread: 'sam', says: 'Please refund 300 for order 8816', answer: '' })
  tell('  a new process resumes it')
  await expectTurn({ thread: 'sam', results: ['withdrawn'], answer: 'I could not do all of it.' })
  await expectBudget({ spent: 442.5, reserved: 0, remaining: 57.5 })

  tell('\nMax has written a note into his order, and the model obeys it')
  const ofMax = { says: 'Please refund 20 for order 8814', answer: 'I could not do all of it.' }
  await expectTurn({ thread: 'max', ...ofMax, results: ['refunded 20.00', 'denied', 'denied'] })
  await expectBudget({ spent: 462.5, reserved: 0, remaining: 37.5 })

  tell('\nAna asks for what the policy allows, and the budget no longer has')
  const ofAna = { says: 'Please refund 90 for order 8815', answer: 'I could not do all of it.' }
  await expectTurn({ thread: 'ana', ...ofAna, results: ['denied'] })
  await expectBudget({ spent: 462.5, reserved: 0, remaining: 37.5 })

  assert.deepEqual(linesOf(bank), ['order:8812 42.50', 'order:8813 400.00', 'order:8814 20.00'])
  assert.deepEqual(linesOf(outbox), ['kim@customers.example'])
  tell(`\nAt the bank: ${linesOf(bank).join(', ')}. Written to: ${linesOf(outbox).join(', ')}. Nothing else.`)
} finally {
  await stop()
  rmSync(folder, { recursive: true, force: true })
}

/** A process that takes one turn and ends; resolves with what it told. */
async function runTurn(env) {
  const child = fork(TURN, { env: { PATH: process.env.PATH, ...env } })
  const exited = once(child, 'exit')
  let told
  child.on('message', (message) => {
    told = message
  })
  const [code] = await exited
  assert.equal(code, 0, 'the turn failed')
  return told
}

function linesOf(file) {
  return readFileSync(file, 'utf8').trim().split('\n')
}

function tell(line) {
  console.log(line)
}
