/** Verifies proofs of the audit log in the browser: for a decision's entries, and for a log that continues a saved one. */
import { readFile } from 'node:fs/promises'
import { leafHash } from '@countersign/audit-log'
import type { AuditEntry, DecisionProof, InclusionProof } from '@countersign/contract'
import { generateSigningKey } from '@countersign/permit'
import { until } from '@countersign/testkit'
import type { Locator } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import {
  ALLOWED,
  createPolicy,
  decide,
  everyItem,
  makeKey,
  REFUNDS,
  REVIEWED,
  succeed,
} from '../../../server/test/api/refunds.js'
import { editedStore } from '../../../server/test/edited-store.js'
import { forgetTrees, intruderOf } from '../../../server/test/intruder.js'
import { type Stage, stage } from './support/browser.js'

const AUDIT = /\/dashboard\/v1\/audit\?/
const PROOF = /\/dashboard\/v1\/audit\/proof\?/
const DECISION = /\/dashboard\/v1\/decisions\/dec_\w+$/
const RECORD = /\/dashboard\/v1\/audit\/records\?/
const KEYS = /\/\.well-known\/jwks\.json$/

const CHANGED_PROOFS: readonly (readonly [change: (proof: DecisionProof) => void, unproved: number, why: string])[] = [
  [
    ({ data }) => Object.assign(data[0]?.entry as AuditEntry, { actor: 'key_01kagx3v5ne8sr6w1y6gqk4t2h' }),
    1,
    'The proof is for a different entry than the one shown here.',
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
    'The entry is not covered by a checkpoint yet. Ask for the proof again.',
  ],
  [(proof) => Object.assign(proof, { data: proof.data.slice(1) }), 1, 'The server has no proof for this entry.'],
]

/** Changes the responses to these requests on their way to the page. */
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
    await panel(on).getByText('The decision has changed since you verified it.').waitFor()
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
    await expectUnproved(2, 'No known key has signed it.')
  })

  it('prove nothing of a page that says something else', async () => {
    await tamper(on, DECISION, (decision) => Object.assign(decision as object, { effect: 'deny' }))
    await open()
    await verify(on).click()
    await panel(on).getByRole('alert').getByText('effect: "allow" in the log, but "deny" here').waitFor()
    expect(
      await panel(on)
        .getByText(/^Proved/)
        .count(),
    ).toBe(0)
  })

  it('say that the store has no record of the decision', async () => {
    await open()
    await tamper(on, RECORD, (page) => Object.assign(page as object, { data: [] }))
    await verify(on).click()
    await panel(on).getByRole('alert').getByText('there is no record, but the log has 2 entries about it').waitFor()
  })

  it('name each member of the record that somebody has edited in the store', async () => {
    await decided()
    const asker = await makeKey(on.server, ['decisions:write'])
    const { id } = await decide(on.server, REVIEWED, asker.key)
    const move = (name: string, body: object, key?: string) =>
      succeed(on.server.call('POST', `/v1/decisions/${id}/${name}`, { body, ...(key !== undefined && { key }) }))
    await move('approve', { comment: 'Fine.' })
    await move('claim', { holder: 'run-1' }, asker.key)
    await move('confirm', { amount: 400 }, asker.key)
    const store = editedStore(on.server.dataDir)
    const verified = async () => {
      await on.open(`/decisions/${id}`, 'Decision on payment.refund')
      await verify(on).click()
    }
    const edits: readonly (readonly [edit: () => Promise<void>, said: RegExp, count?: number])[] = [
      [
        () => store.document('decisions', [id], ({ outcome }) => Object.assign(outcome, { amount: 4 })),
        /^outcome\.amount: 400 in the log, but 4 here$/,
      ],
      [
        () => store.document('decisions', [id], ({ review }) => Object.assign(review, { comment: 'Never.' })),
        /^review\.comment: "Fine\." in the log, but "Never\." here$/,
      ],
      [
        () => store.document('decisions', [id], (decision) => Object.assign(decision, { reason: 'Because.' })),
        /^the reason, advice, .* differ from the original decision$/,
      ],
      [
        () => store.member('decisions', [id], { request_context: '{"amount":421,"currency":"EUR"}' }),
        /^the request: its context, resource, action and agent differ from the original request$/,
      ],
      [
        () => store.document('decisions', [id], (decision) => Object.assign(decision, { effect: 'allow' })),
        /^effect: "review" in the log, but "allow" here$/,
        // A decision without a review has no holder, so the holder differs, and the hash that covers it.
        3,
      ],
      [
        () => store.document('decisions', [id], ({ review }) => Object.assign(review, { decided_by: asker.id })),
        /^review\.decided_by: "key_\w+" in the log, but "key_\w+" here$/,
      ],
      // A member that the page does not show.
      [
        () => store.document('decisions', [id], ({ holder }) => Object.assign(holder, { name: 'run-2' })),
        /^holder\.name: "run-1" in the log, but "run-2" here$/,
      ],
    ]
    for (const [edit, said, count = 1] of edits) {
      await edit()
      await verified()
      const notice = panel(on).getByRole('alert').filter({ hasText: 'The stored decision differs from its audit log' })
      await notice.getByRole('listitem').filter({ hasText: said }).waitFor()
      expect(await notice.getByRole('listitem').count()).toBe(count)
      await panel(on).scrollIntoViewIfNeeded()
      await store.undo()
    }
    await on.screenshot('decision-edited')
    await store.remove('decisions', [id])
    await on.open(`/decisions/${id}`, 'Decision')
    await on.page.getByText(`The store has no record of ${id}`).waitFor()
    await verify(on).click()
    await panel(on).getByRole('alert').getByText('there is no record, but the log has 4 entries about it').waitFor()
    await on.look('decision-deleted')
    await on.narrow('decision-deleted')
    expect(on.complaints.splice(0).every((text) => text.includes('404'))).toBe(true)
    await store.undo()
    await store.close()
    await verified()
    await panel(on).getByText('Proved: 4 entries in the audit log').waitFor()
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
    await page.getByText('Your key is missing the scope audit:read').waitFor()
    expect(await page.getByRole('button', { name: 'Verify in this browser' }).count()).toBe(0)
    await page.context().close()
  })
})

describe('the checkpoints', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  const drawer = () => on.page.getByRole('dialog', { name: 'Checkpoints' })
  /** Creates a decision and a checkpoint that covers it. */
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
    await drawer().getByText('The log continues from your note').waitFor()
    expect(await drawer().getByRole('status').textContent()).toMatch(/The first \d+ of its \d+ checkpoints/)
    await drawer().getByRole('status').scrollIntoViewIfNeeded()
    await on.look('audit-checkpoints')
    await on.narrow('audit-checkpoints')
    // One log, from the response of the API.
    const { data } = await succeed(on.server.call('GET', '/v1/audit/checkpoints'))
    await compare(data[0].note)
    await drawer()
      .getByText(/of its \d+ entries are the ones/)
      .waitFor()
  })

  it('are not said to go on from a note when that is not proved', async () => {
    const note = await open()
    const refused = drawer().getByRole('alert').filter({ hasText: 'The log does not continue from your note' })
    const url = await tamper(on, /\/audit\/consistency\?/, (proof) =>
      Object.assign(proof as object, { path: [Buffer.alloc(32).toString('base64')] }),
    )
    await compare(note)
    await refused.getByText('This server signed it').waitFor()
    await on.screenshot('audit-checkpoints-refused')
    await on.page.unroute(url)
    const [origin, size, root, ...rest] = note.split('\n')
    await compare([origin, Number(size) + 1000, root, ...rest].join('\n'))
    await refused.getByText('The server’s log is now shorter than that.').waitFor()
    await refused.getByText('None of the keys that the server publishes now has signed it.').waitFor()
    await compare([origin, size, Buffer.alloc(32).toString('base64'), ...rest].join('\n'))
    await refused.getByText('The server did not prove that it starts with the same entries.').waitFor()
    await compare(note.replace('/root', '/log/other'))
    await refused.getByText('The server has no checkpoint for this log.').waitFor()
    await compare('a note')
    await drawer().getByRole('alert').getByText('Not a checkpoint note').waitFor()
    expect(on.complaints.splice(0).every((text) => /status of 40[04]/.test(text))).toBe(true)
  })
})

describe('a log that was rewritten', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })

  it('is named where it is verified, with what it means and what to read', async () => {
    await createPolicy(on.server, REFUNDS)
    const { id } = await decide(on.server, ALLOWED)
    const [entry] = await everyItem(on.server, `/v1/audit?decision_id=${id}`)
    await until('a checkpoint of it', async () => {
      const { data } = await succeed(on.server.call('GET', '/v1/audit/checkpoints'))
      return data.some(({ log, size }: { log: string; size: number }) => log === entry.log && size > entry.index)
    })
    const intruder = intruderOf(on.server.dataDir)
    await intruder.changeEntry(entry.log, entry.index, (before) => ({ ...before, data: { effect: 'deny' } }))
    await forgetTrees(intruder)
    await until('the server to see it', async () => {
      await decide(on.server, ALLOWED)
      return (await on.server.call('GET', '/v1/audit/checkpoints')).status === 409
    })
    const expectNotice = async (within: Locator, title: string) => {
      const notice = within.getByRole('alert').filter({ hasText: title })
      await notice.getByText('Decisions continue').waitFor()
      const link = notice.getByRole('link', { name: 'A log that was rewritten' })
      expect(await link.getAttribute('href')).toMatch(/\/docs\/audit\.md#a-log-that-was-rewritten$/)
      await notice.getByText('log_rewritten, request').waitFor()
    }
    await on.open(`/decisions/${id}`, 'Decision on payment.refund')
    await verify(on).click()
    await expectNotice(panel(on), 'The verification failed: the audit log was rewritten')
    await panel(on).scrollIntoViewIfNeeded()
    await on.look('log-rewritten')
    await on.narrow('log-rewritten')
    await on.open('/audit', 'Audit')
    await on.page.getByRole('button', { name: 'Checkpoints' }).click()
    await expectNotice(on.page.getByRole('dialog'), 'The audit log was rewritten')
    expect(on.complaints.splice(0).filter((one) => !one.includes('409'))).toEqual([])
  })
})
