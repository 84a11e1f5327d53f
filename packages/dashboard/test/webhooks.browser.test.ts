/** Webhooks, with a real receiver on this machine. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ALLOWED, createPolicy, decide, makeKey, REFUNDS, succeed } from '../../../server/test/api/refunds.js'
import { type Answer, type Receiver, startReceiver } from '../../../server/test/feed/webhooks/receiver.js'
import { violationsOf } from './support/axe.js'
import { stage } from './support/browser.js'

const SECRET = /whsec_[0-9A-Za-z+/=]+/
const SETTINGS = { webhookAllowPrivate: true }

let receiver: Receiver
let answer: Answer
beforeAll(async () => {
  receiver = await startReceiver((received, res) => answer(received, res))
})
beforeEach(() => {
  answer = (_, res) => res.end('thank you')
})
afterAll(() => receiver.close())

describe('webhooks', () => {
  const on = stage({ settings: SETTINGS })

  const dialog = (name: string) => on.page.getByRole('dialog', { name })
  const create = (body: object = {}) =>
    succeed(on.server.call('POST', '/v1/webhooks', { body: { url: receiver.url, events: ['key.created'], ...body } }))
  async function change(what: string) {
    await on.page.getByRole('button', { name: 'Change' }).click()
    await on.page.getByRole('menuitem', { name: what }).click()
  }
  const row = (name: string) => on.page.getByRole('region', { name: 'List of deliveries' }).getByRole('row', { name })
  async function takeSecret(title: string): Promise<string> {
    const shown = dialog(title)
    const [secret = ''] = SECRET.exec((await shown.locator('code').textContent()) ?? '') ?? []
    expect(secret).not.toBe('')
    expect(await violationsOf(on.page)).toEqual([])
    await shown.getByRole('button', { name: 'I have copied it' }).click()
    await shown.waitFor({ state: 'detached' })
    const kept = await on.page.evaluate(
      () =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]) +
        document.documentElement.outerHTML,
    )
    expect(kept).not.toContain(secret)
    return secret
  }

  it('one is created, tested, and its secret rotated', async () => {
    await on.open('/webhooks', 'Webhooks')
    await on.page.getByText('No webhooks yet').waitFor()
    await on.page.getByRole('button', { name: 'Create a webhook' }).click()
    const form = dialog('Create a webhook')
    await form.getByLabel('URL').fill(receiver.url)
    await form.getByLabel('Description').fill('reviews and budgets')
    await form.getByRole('button', { name: 'Create' }).click()
    await form.getByText('Choose at least one type.').waitFor()
    await form.getByRole('checkbox', { name: 'decision.review_requested' }).check()
    await form.getByRole('checkbox', { name: 'budget.threshold' }).check()
    expect(await violationsOf(on.page)).toEqual([])
    await form.getByRole('button', { name: 'Create' }).click()
    const first = await takeSecret('The secret of the webhook')

    await on.page.getByRole('row', { name: receiver.url }).getByText('none yet').waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    await on.page.getByRole('link', { name: receiver.url }).click()
    await on.page.getByRole('heading', { level: 1, name: `${receiver.url} enabled` }).waitFor()
    const before = receiver.received.length
    const keys: (string | undefined)[] = []
    on.page.on('request', (request) => {
      if (request.method() === 'POST') keys.push(request.headers()['idempotency-key'])
    })
    await on.page.getByRole('button', { name: 'Send a test event' }).click()
    await row('webhook.test').getByText('delivered').waitFor()
    expect(JSON.parse(String(receiver.received[before]?.body))).toMatchObject({ type: 'webhook.test' })
    expect(await violationsOf(on.page)).toEqual([])

    await change('Rotate the secret')
    await dialog('Rotate the secret').getByRole('button', { name: 'Rotate' }).click()
    expect(await takeSecret('The new secret of the webhook')).not.toBe(first)
    // Each has its own idempotency key, so none counts as a repetition of another.
    expect(new Set(keys)).toHaveProperty('size', 2)
    expect(keys.join()).toMatch(/^[0-9a-f]{32},[0-9a-f]{32}$/)

    await on.page.getByRole('link', { name: 'Webhooks' }).click()
    await on.page.getByRole('row', { name: receiver.url }).getByText('delivered').waitFor()
  })

  it('a delivery that fails tells why, and is retried', async () => {
    const { id } = await create()
    answer = (_, res) => res.writeHead(503, { 'Retry-After': '86400' }).end('<b>later</b>')
    await on.open(`/webhooks/${id}`)
    await on.page.getByRole('button', { name: 'Send a test event' }).click()
    await row('webhook.test').getByText('in 23 hours').waitFor()
    await on.page.getByRole('button', { name: 'webhook.test' }).click()
    const drawer = dialog('webhook.test')
    await drawer.getByText('Status 503').waitFor()
    await drawer.getByText('The endpoint responded with 503.').waitFor()
    await drawer.getByText('<b>later</b>').waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    answer = (_, res) => res.end('thank you')
    await drawer.getByRole('button', { name: 'Retry now' }).click()
    await drawer.getByText('Status 200').waitFor()
    await drawer.getByText('delivered').waitFor()
    await drawer.getByRole('button', { name: 'Close' }).click()
    await on.page.getByRole('radiogroup', { name: 'Status' }).getByText('Failed').click()
    await on.page.getByText('No delivery is failed').waitFor()
    await on.page.getByRole('radiogroup', { name: 'Status' }).getByText('Delivered').click()
    await row('webhook.test').waitFor()
  })

  it('what happened before is replayed', async () => {
    await createPolicy(on.server, REFUNDS)
    await decide(on.server, ALLOWED)
    const { id } = await create({ events: ['decision.created'] })
    await on.open(`/webhooks/${id}`)
    await change('Replay events')
    await dialog('Replay events').getByRole('button', { name: 'Replay', exact: true }).click()
    await dialog('Replay events').getByText('The replay has started').waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    await dialog('Replay events').getByRole('button', { name: 'Close' }).last().click()
    await row('decision.created').getByText('delivered').waitFor()
  })

  it('one is edited, disabled, enabled and deleted', async () => {
    const { id } = await create({ description: 'old' })
    await on.open(`/webhooks/${id}`)
    await change('Edit')
    const form = dialog('Edit the webhook')
    await form.getByLabel('Description').fill('new words')
    await form.getByRole('radio', { name: 'All types' }).check()
    await form.getByRole('button', { name: 'Save' }).click()
    await on.page.getByText('new words').waitFor()
    await on.page.getByText('every type').waitFor()

    await change('Disable')
    await dialog('Disable the webhook?').getByRole('button', { name: 'Disable' }).click()
    await on.page.getByText('Disabled: it receives no events').waitFor()
    expect(await on.page.getByRole('button', { name: 'Send a test event' }).isDisabled()).toBe(true)
    const { body } = await on.server.call('GET', `/v1/webhooks/${id}`)
    expect(body).toMatchObject({ enabled: false, events: null, description: 'new words', url: receiver.url })
    expect(await violationsOf(on.page)).toEqual([])
    await on.open('/webhooks', 'Webhooks')
    await on.page.getByText('It was disabled by hand.').waitFor()
    await on.open(`/webhooks/${id}`)
    await change('Enable')
    await dialog('Enable the webhook?').getByRole('button', { name: 'Enable' }).click()
    await on.page.getByRole('heading', { level: 1, name: `${receiver.url} enabled` }).waitFor()

    await change('Delete')
    await dialog('Delete the webhook?').getByRole('button', { name: 'Delete' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
    expect((await on.server.call('GET', `/v1/webhooks/${id}`)).status).toBe(404)
  })

  it('one whose endpoint is gone says so', async () => {
    const { id } = await create()
    answer = (_, res) => res.writeHead(410).end()
    await on.open(`/webhooks/${id}`)
    await on.page.getByRole('button', { name: 'Send a test event' }).click()
    await on.page.getByText('Its endpoint responded with 410 (Gone).').waitFor()
    await on.page.getByRole('heading', { level: 1, name: `${receiver.url} gone` }).waitFor()
    await row('webhook.test').getByText('none while disabled').waitFor()
  })

  it('a key that may only read sees what was sent, and not what was answered', async () => {
    const { id } = await create()
    await succeed(on.server.call('POST', `/v1/webhooks/${id}/test`))
    const { key } = await makeKey(on.server, ['webhooks:read'])
    const page = await on.another(key)
    await page.goto(`/webhooks/${id}`)
    await page.getByRole('button', { name: 'webhook.test' }).click()
    await page.getByText('Keys with webhooks:write can see the response body.').waitFor()
    expect(await page.getByText('thank you').count()).toBe(0)
    for (const name of ['Retry now', 'Change', 'Send a test event'])
      expect(await page.getByRole('button', { name }).count(), name).toBe(0)
  })

  it('with a long URL fit a small screen, and a delivery is readable in the dark', async () => {
    const { id } = await create({ url: `${receiver.url}/a/long/path?of=${'x'.repeat(80)}` })
    await succeed(on.server.call('POST', `/v1/webhooks/${id}/test`))
    await on.open('/webhooks', 'Webhooks')
    await on.page.getByText('/a/long/path').first().waitFor()
    await on.narrow('webhooks-long')
    await on.open(`/webhooks/${id}`)
    await on.page.getByRole('button', { name: 'webhook.test' }).click()
    await on.page.getByRole('dialog').getByText('Status 200').waitFor()
    await on.look('webhook-delivery')
    await on.narrow('webhook-delivery')
  })
})
