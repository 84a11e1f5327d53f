/** The API reference: it is complete, has a search and anchors, and calls the server that shows it. */
import { describe, expect, it } from 'vitest'
import { createPolicy, makeKey, REFUNDS } from '../../../server/test/api/refunds.js'
import { EXAMPLE_POLICY } from '../src/example-policy.js'
import { BODIES } from '../src/pages/reference/bodies.js'
import { type Stage, stage } from './support/browser.js'

interface Documented {
  readonly method: string
  readonly path: string
  readonly id: string
  readonly takesBody: boolean
}

async function documentedOn({ server }: Stage): Promise<Documented[]> {
  const { paths } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string; requestBody?: object }>>
  }
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId, requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      id: operationId,
      takesBody: requestBody !== undefined,
    })),
  )
}

/** Opens the form of an operation. */
async function tryOut({ page }: Stage, id: string) {
  await page.getByRole('button', { name: `Try ${id}`, exact: true }).click()
  return page.getByRole('region', { name: `Try ${id}`, exact: true })
}

/** Checks only these parts, because the whole page takes long. `pages.browser.test.ts` checks the rest. */
const FORMS = 'section[aria-label^="Try "]'

describe('the reference', () => {
  const on = stage()

  it('has every operation of the OpenAPI document, each under its anchor', async () => {
    const documented = await documentedOn(on)
    await on.open('/docs', 'API reference')
    await on.page.getByRole('heading', { level: 3 }).first().waitFor()
    const shown = await on.page.getByRole('heading', { level: 3 }).allInnerTexts()
    expect(shown.map((text) => text.replace(/\s+/g, ' ')).sort()).toEqual(
      documented.map(({ method, path }) => `${method} ${path}`).sort(),
    )
    const anchors = await on.page.locator('main section[id]').evaluateAll((found) => found.map(({ id }) => id))
    expect(anchors.sort()).toEqual(documented.map(({ id }) => id).sort())
  })

  it('finds endpoints, and opens the first with Enter', async () => {
    await on.open('/docs', 'API reference')
    const list = on.page.getByRole('navigation', { name: 'Endpoints' })
    const search = list.getByRole('searchbox', { name: 'Search endpoints' })
    await search.fill('reviews:write')
    expect(await list.getByRole('link').allInnerTexts()).toEqual([
      expect.stringContaining('/approve'),
      expect.stringContaining('/decline'),
    ])
    await search.fill('simul')
    await search.press('Enter')
    await expect.poll(() => new URL(on.page.url()).hash).toBe('#policies_simulate')
    await expect.poll(() => isAtTop(on, 'policies_simulate')).toBe(true)
    await search.fill('nonsense')
    await list.getByText('No results').waitFor()
  })

  it('opens at the anchor of the URL', async () => {
    await on.open('/docs#agents_suspend', 'API reference')
    await expect.poll(() => isAtTop(on, 'agents_suspend')).toBe(true)
    await on.page
      .getByRole('navigation', { name: 'Endpoints' })
      .getByRole('link', { name: '/agents/{id}/suspend' })
      .and(on.page.locator('[aria-current="page"]'))
      .waitFor()
  })

  it('opens schemas as deep as they go, also those that hold themselves', async () => {
    await on.open('/docs#policies_create', 'API reference')
    const section = on.page.getByRole('region', { name: 'POST /v1/policies', exact: true })
    await section.getByText('Members of Rule').click()
    for (const index of [0, 1, 2]) await section.getByText('Members of Conditions').nth(index).click()
    await section.getByText('names that match').first().waitFor()
    await section.getByText('up to 512 characters').first().waitFor()
    await on.screenshot('reference-schemas')
  })

  it('leads from a problem to the page of the errors', async () => {
    await on.open('/docs#decisions_decide', 'API reference')
    const section = on.page.getByRole('region', { name: 'POST /v1/decisions', exact: true })
    await section.getByText(/^Problems \(/).click()
    await section.getByRole('link', { name: 'agent_not_allowed' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Errors' }).waitFor()
    expect(new URL(on.page.url()).hash).toBe('#agent_not_allowed')
  })

  it('tries a GET with its parameters, by the session', async () => {
    const policy = await createPolicy(on.server, REFUNDS)
    await on.open('/docs#policies_get', 'API reference')
    const form = await tryOut(on, 'policies_get')
    await form.getByText('It changes nothing.').waitFor()
    await form.getByLabel('id').fill(policy.id)
    await form.getByRole('button', { name: 'Send GET' }).click()
    await form.getByRole('status').getByText('200').waitFor()
    await form.getByRole('region', { name: 'Response of policies_get' }).getByText(policy.id).waitFor()
    await form.getByText('"1"', { exact: true }).waitFor()

    const list = await tryOut(on, 'decisions_list')
    await list.getByLabel('effect').selectOption('deny')
    const sent = on.page.waitForRequest(/dashboard\/v1\/decisions\?/)
    await list.getByRole('button', { name: 'Send GET' }).click()
    expect(new URL((await sent).url()).search).toBe('?effect=deny')
    await list.getByRole('status').getByText('200').waitFor()
  })

  it('tries a POST: says that it is real, and hides the secret of its answer', async () => {
    await on.open('/docs#keys_create', 'API reference')
    const form = await tryOut(on, 'keys_create')
    await form.getByText('This is a real call.').waitFor()
    await form.getByText('this form hides it').waitFor()
    expect(JSON.parse(await form.getByLabel('Body').inputValue())).toEqual(BODIES.keys_create)
    await form.getByRole('button', { name: 'Send POST' }).click()
    await form.getByRole('status').getByText('201').waitFor()
    await form.getByText('Permits, keys and secrets are hidden here.').waitFor()
    expect(await on.page.content()).not.toMatch(/cs_sk_[0-9A-Za-z]{10}/)
    await on.screenshot('reference-try')
    const { body } = await on.server.call('GET', '/v1/keys')
    expect(body.data[0].name).toBe('support bots')
  })

  it('shows what the server says of a body', async () => {
    await on.open('/docs#decisions_decide', 'API reference')
    const form = await tryOut(on, 'decisions_decide')
    await form.getByLabel('Body').fill('{"agent_id": ')
    await form.getByRole('button', { name: 'Send POST' }).click()
    await form.getByText('malformed_json', { exact: false }).first().waitFor()
    await form.getByLabel('Body').fill('{"agent_id": "agent:support-7"}')
    await form.getByRole('button', { name: 'Send POST' }).click()
    await form.getByRole('status').getByText('400').waitFor()
    await form.getByText('validation_failed', { exact: false }).first().waitFor()
    expect(on.complaints.splice(0)).toEqual([expect.stringContaining('400'), expect.stringContaining('400')])
  })

  it('asks before it deletes', async () => {
    const { id } = await makeKey(on.server, ['decisions:read'])
    await on.open('/docs#keys_revoke', 'API reference')
    const form = await tryOut(on, 'keys_revoke')
    await form.getByLabel('id').fill(id)
    await form.getByRole('button', { name: 'Send DELETE' }).click()
    const question = on.page.getByRole('dialog')
    await question.getByText('Revoke a key permanently.').waitFor()
    await question.getByRole('button', { name: 'Cancel' }).click()
    expect((await on.server.call('GET', `/v1/keys/${id}`)).body.revoked_at).toBeNull()
    await form.getByRole('button', { name: 'Send DELETE' }).click()
    await question.getByRole('button', { name: 'Send DELETE' }).click()
    await form.getByRole('status').getByText('204').waitFor()
    expect((await on.server.call('GET', `/v1/keys/${id}`)).body.revoked_at).not.toBeNull()
  })

  it('follows the stream of events until it is stopped', async () => {
    await on.open('/docs#events_stream', 'API reference')
    const form = await tryOut(on, 'events_stream')
    await form.getByRole('button', { name: 'Send GET' }).click()
    await form.getByText('Events appear here').waitFor()
    const body = { agent_id: 'agent:streamed-1', action: 'payment.refund' }
    await on.server.call('POST', '/v1/decisions', { body })
    await form.getByText('agent:streamed-1').waitFor()
    await form.getByRole('button', { name: 'Stop' }).click()
    await form.getByText('Events appear here').waitFor({ state: 'detached' })
  })

  it('says which scope the key of the session lacks', async () => {
    const { key } = await makeKey(on.server, ['decisions:read'])
    const page = await on.another(key)
    await page.goto('/docs#policies_create')
    await page.getByRole('button', { name: 'Try policies_create', exact: true }).click()
    await page.getByText('Your key is missing policies:write').waitFor()
    await page.context().close()
  })

  it('fills in bodies that the server takes', async () => {
    const documented = (await documentedOn(on)).filter(({ takesBody }) => takesBody)
    expect(Object.keys(BODIES).sort()).toEqual(documented.map(({ id }) => id).sort())
    const unknown = { dec: 'dec', pol: 'pol', key: 'key', whk: 'whk' }
    for (const { id, method, path } of documented) {
      const prefix = { decisions: unknown.dec, policies: unknown.pol, keys: unknown.key, webhooks: unknown.whk }
      const kind = path.split('/')[2] as keyof typeof prefix
      const given = kind in prefix ? `${prefix[kind]}_01kagx3v5ne8sr6w1y6gqk4t2h` : 'agent:unknown-1'
      const called = path.replace('{id}', given).replace('{name}', encodeURIComponent(EXAMPLE_POLICY.name))
      const { status, body } = await on.server.call(method, called, { body: BODIES[id] })
      // The example's permit is invalid; every other refusal is about a missing object.
      const refusal = id === 'permits_redeem' ? 'permit_invalid' : 'not_found'
      if (status >= 400) expect([id, body.code]).toEqual([id, refusal])
    }
  })

  it('has no violation that axe finds, and does not scroll sideways, with forms and schemas open', async () => {
    await on.open('/docs', 'API reference')
    await tryOut(on, 'decisions_list')
    await tryOut(on, 'policies_replace')
    await on.look('reference-forms', FORMS)
    await on.page.evaluate(() => {
      for (const one of document.querySelectorAll('details')) one.open = true
    })
    await on.narrow('reference-open', FORMS)
  })
})

describe('the reference without a session', () => {
  const on = stage({ isSignedOut: true })

  it('is there for everybody, and says how to try', async () => {
    await on.open('/docs', 'API reference')
    const form = await tryOut(on, 'decisions_decide')
    await form.getByText('to try this call').waitFor()
    expect(await form.getByRole('button').count()).toBe(0)
    await on.look('reference-signed-out', FORMS)
    await form.getByRole('link', { name: 'Sign in' }).click()
    await on.page.getByLabel('API key').first().waitFor()
  })
})

/** Whether the section starts below the bar at the top. */
function isAtTop({ page }: Stage, id: string): Promise<boolean> {
  return page.evaluate((wanted) => {
    const top = document.getElementById(wanted)?.getBoundingClientRect().top ?? -1
    return top >= 40 && top < 120
  }, id)
}
