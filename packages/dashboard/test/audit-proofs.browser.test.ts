/** Proofs of the audit log, verified in the browser: of a decision's entries, and of a log that goes on. */
import { readFile } from 'node:fs/promises'
import { leafHash } from '@countersign/audit-log'
import type { AuditEntry, DecisionProof, InclusionProof } from '@countersign/contract'
import { generateSigningKey } from '@countersign/permit'
import { describe, expect, it } from 'vitest'
import { ALLOWED, createPolicy, decide, makeKey, REFUNDS, REVIEWED, succeed } from '../../../server/test/api/refunds.js'
import { type Stage, stage } from './support/browser.js'

const AUDIT = /\/dashboard\/v1\/audit\?/
const PROOF = /\/dashboard\/v1\/audit\/proof\?/
const DECISION = /\/dashboard\/v1\/decisions\/dec_\w+$/
const KEYS = /\/\.well-known\/jwks\.json$/

const CHANGED_PROOFS: readonly (readonly [change: (proof: DecisionProof) => void, unproved: number, why: string])[] = [
  [
    ({ data }) => Object.assign(data[0]?.entry as AuditEntry, { actor: 'key_01kagx3v5ne8sr6w1y6gqk4t2h' }),
    1,
    'The proof is of another entry than the one that is shown here.',
  ],
  [
    ({ data }) => {
      for (const { inclusion } of data) Object.assign(inclusion?.path as object, [Buffer.alloc(32).toString('base64')])
    },
    2,
    'The leaf is not in the tree of this root.',
  ],
  [
    ({ data }) => Object.assign(data[0] as object, { inclusion: data[1]?.inclusion as InclusionProof }),
    1,
    'The leaf is not in the tree of this root.',
  ],
  [
    ({ data }) => Object.assign(data[1] as object, { inclusion: null, checkpoint_inclusion: null }),
    1,
    'The entry is under no checkpoint yet. Ask for the proof again.',
  ],
  [(proof) => Object.assign(proof, { data: proof.data.slice(1) }), 1, 'The server has no proof of it.'],
]

/** Has the answers to these requests changed on their way to the page. */
async function tamper<Body>(on: Stage, url: RegExp, change: (body: Body) => void): Promise<RegExp> {
  await on.page.route(url, async (route) => {
    const response = await route.fetch()
    const body = await response.json()
    change(body)
    await route.fulfill({ response, json: body })
  })
  return url
}

const panel = (on: Stage) => on.page.getByRole('region', { name: 'Audit position' })
const verify = (on: Stage) => panel(on).getByRole('button', { name: 'Verify in this browser' })

describe('the entries of a decision', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  let made: Promise<object> | null = null
  const decided = async () => {
    made ??= createPolicy(on.server, REFUNDS)
    await made
    const { id } = await decide(on.server, ALLOWED)
    return id as string
  }
  const confirm = (id: string) => succeed(on.server.call('POST', `/v1/decisions/${id}/confirm`, { body: {} }))
  const open = async () => {
    const id = await decided()
    await confirm(id)
    await on.open(`/decisions/${id}`, 'Decision on payment.refund')
    return id
  }
  const expectUnproved = async (count: number, why: string) => {
    await verify(on).click()
    await panel(on).getByRole('alert').getByText(`Not proved: ${count} of 2 entries`).waitFor()
    await expect.poll(() => panel(on).getByText(why).count()).toBe(count)
    expect(await panel(on).getByText('proved', { exact: true }).count()).toBe(2 - count)
    expect(
      await panel(on)
        .getByText(/^Proved/)
        .count(),
    ).toBe(0)
  }

  it('are proved, by keyboard too, and the verdict goes when the decision changes', async () => {
    const id = await decided()
    await on.open(`/decisions/${id}`, 'Decision on payment.refund')
    await verify(on).focus()
    await on.page.keyboard.press('Enter')
    const notice = panel(on).getByRole('status').filter({ hasText: 'Proved: 1 entry in the audit log' })
    await notice.waitFor()
    expect(await notice.textContent()).toMatch(/Checkpoint .*\/log\/[\w-]+: \d+ entries, made at \d{4}-/)
    expect(await panel(on).getByText('proved', { exact: true }).count()).toBe(1)
    await panel(on).scrollIntoViewIfNeeded()
    await on.look('decision-proved')
    await confirm(id)
    await panel(on).getByText('The decision has changed since it was verified.').waitFor()
    expect(await panel(on).getByText('proved', { exact: true }).count()).toBe(0)
    await panel(on).getByText('decision.confirmed').waitFor()
    await verify(on).click()
    await panel(on).getByText('Proved: 2 entries in the audit log').waitFor()
  })

  it('are proved through a review, and compared with the decision that came of it', async () => {
    await decided()
    const asker = await makeKey(on.server, ['decisions:write'])
    const { id } = await decide(on.server, REVIEWED, asker.key)
    const move = (name: string, body: object, key?: string) =>
      succeed(on.server.call('POST', `/v1/decisions/${id}/${name}`, { body, ...(key !== undefined && { key }) }))
    await move('approve', {})
    await move('claim', { holder: 'run-1' }, asker.key)
    await on.open(`/decisions/${id}`, 'Decision on payment.refund')
    await verify(on).click()
    await panel(on).getByText('Proved: 3 entries in the audit log').waitFor()
  })

  it('are not proved by a proof that was changed on its way', async () => {
    await open()
    for (const [change, count, why] of CHANGED_PROOFS) {
      const url = await tamper(on, PROOF, change)
      await expectUnproved(count, why)
      await on.page.unroute(url)
    }
    await verify(on).click()
    await panel(on).getByText('Proved: 2 entries in the audit log').waitFor()
  })

  it('are not proved when they were changed, with their leaf hash and in the proof too', async () => {
    const forge = ({ data }: { readonly data: readonly (AuditEntry | { readonly entry: AuditEntry })[] }) => {
      for (const one of data) {
        const entry = 'entry' in one ? one.entry : one
        if (entry.type !== 'decision.created') continue
        Object.assign(entry, { agent_id: 'agent:other' })
        Object.assign(entry, { leaf: leafHash(entry) })
      }
    }
    await tamper(on, AUDIT, forge)
    await tamper(on, PROOF, forge)
    await open()
    await expectUnproved(1, 'The leaf is not in the tree of this root.')
    await panel(on).scrollIntoViewIfNeeded()
    await on.screenshot('decision-not-proved')
  })

  it('are not proved by the signature of another key', async () => {
    await open()
    await tamper(on, KEYS, (jwks) => Object.assign(jwks as object, { keys: [generateSigningKey().publicJwk] }))
    await expectUnproved(2, 'Nobody has signed it whose key is known.')
  })

  it('prove nothing of a page that says something else', async () => {
    await tamper(on, DECISION, (decision) => Object.assign(decision as object, { effect: 'deny' }))
    await open()
    await verify(on).click()
    await panel(on).getByRole('alert').getByText('differ in: the effect').waitFor()
    expect(
      await panel(on)
        .getByText(/^Proved/)
        .count(),
    ).toBe(0)
  })

  it('are not verified by a browser without Ed25519, which says so', async () => {
    await on.page.addInitScript(() => {
      crypto.subtle.importKey = () => Promise.reject(new DOMException('', 'NotSupportedError'))
    })
    await open()
    await verify(on).click()
    await panel(on).getByRole('alert').getByText('This browser cannot check Ed25519 signatures.').waitFor()
    expect(await panel(on).getByText('proved', { exact: true }).count()).toBe(0)
  })

  it('are not offered to a key without audit:read', async () => {
    const id = await decided()
    const { key } = await makeKey(on.server, ['decisions:read'])
    const page = await on.another(key)
    await page.goto(`/decisions/${id}`)
    await page.getByText('Your key lacks the scope audit:read').waitFor()
    expect(await page.getByRole('button', { name: 'Verify in this browser' }).count()).toBe(0)
    await page.context().close()
  })
})

describe('the checkpoints', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  const drawer = () => on.page.getByRole('dialog', { name: 'Checkpoints' })
  /** Has the server make a decision and a checkpoint with it. */
  const decided = async () => {
    const { id } = await decide(on.server, ALLOWED)
    await succeed(on.server.call('GET', `/v1/audit/proof?decision_id=${id}`))
  }
  const open = async () => {
    await decided()
    await on.open('/audit', 'Audit')
    await on.page.getByRole('button', { name: 'Checkpoints' }).click()
    const note = await drawer().getByRole('region', { name: 'Newest note' }).textContent()
    return note as string
  }
  const compare = async (note: string) => {
    await drawer().getByRole('textbox', { name: 'Note' }).fill(note)
    await drawer().getByRole('button', { name: 'Compare' }).click()
  }

  it('are shown to be kept, and the log is compared with what was kept', async () => {
    const note = await open()
    expect(note).toMatch(/^127\.0\.0\.1:\d+\/root\n\d+\n/)
    await drawer()
      .getByRole('region', { name: 'Logs of the server processes' })
      .getByText(/\d+ entries at/)
      .waitFor()
    const [file] = await Promise.all([
      on.page.waitForEvent('download'),
      drawer().getByRole('button', { name: 'Download the note' }).click(),
    ])
    expect(file.suggestedFilename()).toMatch(/^countersign-checkpoint-\d+\.txt$/)
    expect(await readFile(await file.path(), 'utf8')).toBe(note)
    await decided()
    await compare(`  ${note.replaceAll('\n', '\r\n')}`)
    await drawer().getByText('The log goes on from your note').waitFor()
    expect(await drawer().getByRole('status').textContent()).toMatch(/The first \d+ of its \d+ checkpoints/)
    await drawer().getByRole('status').scrollIntoViewIfNeeded()
    await on.look('audit-checkpoints')
    await on.narrow('audit-checkpoints')
    // Of one log, from the answer of the API.
    const { data } = await succeed(on.server.call('GET', '/v1/audit/checkpoints'))
    await compare(data[0].note)
    await drawer()
      .getByText(/of its \d+ entries are those/)
      .waitFor()
  })

  it('are not said to go on from a note when that is not proved', async () => {
    const note = await open()
    const refused = drawer().getByRole('alert').filter({ hasText: 'The log does not go on from your note' })
    const url = await tamper(on, /\/audit\/consistency\?/, (proof) =>
      Object.assign(proof as object, { path: [Buffer.alloc(32).toString('base64')] }),
    )
    await compare(note)
    await refused.getByText('This server has signed it.').waitFor()
    await on.screenshot('audit-checkpoints-refused')
    await on.page.unroute(url)
    const [origin, size, root, ...rest] = note.split('\n')
    await compare([origin, Number(size) + 1000, root, ...rest].join('\n'))
    await refused.getByText('The log of the server is shorter than that now.').waitFor()
    await refused.getByText('No key that the server publishes now has signed it.').waitFor()
    await compare([origin, size, Buffer.alloc(32).toString('base64'), ...rest].join('\n'))
    await refused.getByText('The server does not prove that it has the same beginning.').waitFor()
    await compare(note.replace('/root', '/log/other'))
    await refused.getByText('The server has no checkpoint of this log.').waitFor()
    await compare('a note')
    await drawer().getByRole('alert').getByText('Not the note of a checkpoint').waitFor()
    expect(on.complaints.splice(0).every((text) => /status of 40[04]/.test(text))).toBe(true)
  })
})
