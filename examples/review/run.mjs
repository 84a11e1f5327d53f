/** An agent asks, a person answers, and one of several processes runs it. Exits 1 when it comes out differently. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ApiError, Countersign } from '@countersign/client'
import { startDecisionPoint } from '../decision-point.mjs'

const JOB = fileURLToPath(new URL('job.mjs', import.meta.url))
const AMOUNT = 400

const { url, apiKey, stop } = await startDecisionPoint()
const folder = mkdtempSync(join(tmpdir(), 'countersign-bank-'))
const bank = join(folder, 'transfers')
writeFileSync(bank, '')
try {
  const admin = new Countersign({ baseUrl: url, apiKey })
  await admin.policies.create({
    name: 'refunds',
    rules: [{ action: 'payment.refund', effect: 'review', reason: 'Refunds need a person.' }],
  })
  // Two keys of the same maker, a `*` key: one asks, the other answers.
  const bot = await admin.keys.create({ name: 'support bot', scopes: ['decisions:write'], agents: ['agent:support-*'] })
  const adasKey = await admin.keys.create({ name: 'Ada', scopes: ['reviews:write', 'decisions:read'] })
  const ada = new Countersign({ baseUrl: url, apiKey: adasKey.key })

  await approved({ botKey: bot.key, ada, adasKeyId: adasKey.id })
  await declined({ botKey: bot.key, ada })
  tell('Every refund was run as often as it was approved.')
} finally {
  await stop()
  rmSync(folder, { recursive: true, force: true })
}

async function approved({ botKey, ada, adasKeyId }) {
  tell('A refund of order:8812')
  const [first] = await startJobs('order:8812', ['job-1'], botKey)
  first.child.kill('SIGKILL')
  await first.exited
  tell('  job-1 asks, waits for a person, and is killed')

  const [second, third] = await startJobs('order:8812', ['job-2', 'job-3'], botKey)
  assert.deepEqual([second.decisionId, third.decisionId], [first.decisionId, first.decisionId])
  tell('  job-2 and job-3 both resume it: the same decision')

  const asAgent = new Countersign({ baseUrl: url, apiKey: botKey })
  await assert.rejects(asAgent.decisions.approve(first.decisionId), isRefusal('insufficient_scope'))
  await answerNext(ada, first.decisionId, (id) => ada.decisions.approve(id, { comment: 'checked the order' }))
  tell('  the key that asked cannot approve it; Ada does')

  const ends = await Promise.all([second.ended(), third.ended()])
  // The one that is late finds it claimed, or, when it looks only after that, settled.
  assert.match([...ends].sort().join(), /^(already_claimed,refunded|refunded,settled)$/)
  tell(`  job-2: ${ends[0]}, job-3: ${ends[1]}`)
  const [winner, late] = await startJobs('order:8812', [ends[0] === 'refunded' ? 'job-2' : 'job-3', 'job-4'], botKey)
  assert.deepEqual([await winner.ended(), await late.ended()], ['settled', 'already_claimed'])
  tell('  started once more, the one that ran it: settled; another, job-4: already_claimed')

  const { status, review, outcome } = await ada.decisions.get(first.decisionId)
  assert.equal(status, 'confirmed')
  assert.deepEqual([review?.decided_by, review?.self_approved], [adasKeyId, false])
  assert.equal(outcome?.amount, AMOUNT)
  expectTransfers(['order:8812 400.00'])
}

async function declined({ botKey, ada }) {
  tell('A refund of order:8813')
  const [job] = await startJobs('order:8813', ['job-5'], botKey)
  await answerNext(ada, job.decisionId, (id) => ada.decisions.decline(id, { comment: 'never paid' }))
  assert.equal(await job.ended(), 'declined')
  assert.equal((await ada.decisions.get(job.decisionId)).review?.comment, 'never paid')
  tell('  job-5 asks and waits; Ada declines; job-5: declined')
  expectTransfers(['order:8812 400.00'])
}

/** What a person does: looks at what waits for an answer, and answers it. */
async function answerNext(person, expectedId, answer) {
  const { data } = await person.decisions.list({ status: 'awaiting_review' }).page()
  assert.deepEqual(
    data.map(({ id, context }) => [id, context?.amount]),
    [[expectedId, AMOUNT]],
  )
  await answer(data[0].id)
}

/** Resolves when each has asked, or has ended before. */
async function startJobs(order, names, apiKey) {
  return Promise.all(
    names.map(async (name) => {
      const { PATH } = process.env
      const env = {
        PATH,
        ORDER: order,
        AMOUNT,
        JOB: name,
        BANK: bank,
        COUNTERSIGN_URL: url,
        COUNTERSIGN_API_KEY: apiKey,
      }
      const child = fork(JOB, { env })
      const told = {}
      child.on('message', (message) => Object.assign(told, message))
      const exited = once(child, 'exit')
      await Promise.race([once(child, 'message'), exited])
      const ended = async () => {
        await exited
        return told.ended
      }
      return { child, exited, ended, decisionId: told.asked }
    }),
  )
}

function expectTransfers(expected) {
  const transfers = readFileSync(bank, 'utf8').trim().split('\n')
  assert.deepEqual(transfers, expected)
  tell(`  at the bank: ${transfers.join(', ')}\n`)
}

function isRefusal(code) {
  return (error) => ApiError.isInstance(error) && error.code === code
}

function tell(line) {
  console.log(line)
}
