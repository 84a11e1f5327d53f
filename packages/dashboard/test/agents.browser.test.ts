/** Agents: their list, their possible effects, and the kill switch. */
import { describe, expect, it } from 'vitest'
import { ALLOWED, createPolicy, DENIED, decide, makeKey, REFUNDS, succeed } from '../../../server/test/api/refunds.js'
import { violationsOf } from './support/axe.js'
import { stage } from './support/browser.js'

const AGENT = ALLOWED.agent_id

describe('agents', () => {
  const on = stage()

  it('none yet: the page names the next step', async () => {
    await on.open('/agents', 'Agents')
    await on.page.getByText('No requests from agents yet').waitFor()
    expect(await violationsOf(on.page)).toEqual([])
  })

  it('are found in the list, and by their exact id', async () => {
    await createPolicy(on.server, REFUNDS)
    await decide(on.server, ALLOWED)
    await decide(on.server, DENIED)
    await decide(on.server, { ...ALLOWED, agent_id: 'agent:other/1+2' })
    await on.open('/agents', 'Agents')
    const list = on.page.getByRole('region', { name: 'Agents' })
    await list.getByRole('link', { name: AGENT }).waitFor()
    await on.page.getByLabel('Find an agent').fill('support')
    await on.page.getByText('1 of 2 loaded agents').waitFor()
    expect(await list.getByRole('link').allTextContents()).toEqual([AGENT])
    await on.page.getByLabel('Find an agent').fill('agent:other/1+2')
    await on.page.getByRole('button', { name: 'Open this id' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'agent:other/1+2 seen only' }).waitFor()
    // The URL of the page can be opened directly.
    await on.page.reload()
    await on.page.getByRole('heading', { level: 1, name: 'agent:other/1+2 seen only' }).waitFor()
  })

  it('one is registered, and its metadata is edited', async () => {
    await on.open('/agents', 'Agents')
    await on.page.getByRole('button', { name: 'Register an agent' }).click()
    const dialog = on.page.getByRole('dialog', { name: 'Register an agent' })
    await dialog.getByRole('textbox', { name: 'Id' }).fill('agent:credit-1')
    await dialog.getByLabel('Name').fill('Credit 1')
    await dialog.getByLabel('Metadata').fill('{"team": "credit",')
    await dialog.getByRole('button', { name: 'Register' }).click()
    await dialog.getByText('This is not JSON').waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    await dialog.getByLabel('Metadata').fill('{"team": "credit", "hidden": "a\u202eb"}')
    await dialog.getByRole('button', { name: 'Register' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'agent:credit-1 registered' }).waitFor()
    await on.page.getByRole('region', { name: 'Metadata' }).getByText('a\\u202eb').waitFor()

    await on.page.getByRole('button', { name: 'Edit' }).click()
    const edit = on.page.getByRole('dialog', { name: 'Edit agent:credit-1' })
    expect(await edit.getByLabel('Metadata').inputValue()).toContain('a\\u202eb')
    await edit.getByLabel('Metadata').fill('{"team": "credit", "credit_limit": 250}')
    await edit.getByRole('button', { name: 'Save' }).click()
    await on.page.getByRole('region', { name: 'Metadata' }).getByText('"credit_limit": 250').waitFor()
    expect(await agentOf('agent:credit-1')).toMatchObject({
      name: 'Credit 1',
      metadata: { team: 'credit', credit_limit: 250 },
    })

    await on.page.getByRole('button', { name: 'Delete' }).click()
    await on.page.getByRole('dialog').getByRole('button', { name: 'Delete the registration' }).click()
    await on.page.getByText('This agent has not been seen').waitFor()
    await expectNotFound()
  })

  it('one is suspended, is denied, and is resumed', async () => {
    await on.open(`/agents/${AGENT}`)
    await on.page.getByRole('heading', { level: 1, name: `${AGENT} seen only` }).waitFor()
    await on.page.getByRole('button', { name: 'Suspend' }).click()
    const question = on.page.getByRole('dialog', { name: `Suspend ${AGENT}?` })
    await question.getByText('Actions that are already running can still be confirmed or rejected').waitFor()
    await question.getByLabel('Reason').fill('odd refunds')
    expect(await violationsOf(on.page)).toEqual([])
    await question.getByRole('button', { name: 'Suspend' }).click()
    await on.page.getByRole('heading', { level: 1, name: `${AGENT} SUSPENDED` }).waitFor()
    await on.page.getByText('odd refunds').waitFor()
    await on.page.getByText('by bootstrap').waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    expect(await decide(on.server, ALLOWED)).toMatchObject({ effect: 'deny', reason_code: 'agent_suspended' })

    await on.open('/agents', 'Agents')
    await on.page.getByRole('row', { name: AGENT }).getByText('SUSPENDED').waitFor()
    await on.page.getByRole('link', { name: AGENT }).click()
    await on.page.getByRole('button', { name: 'Resume' }).click()
    await on.page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
    await on.page.getByRole('heading', { level: 1, name: `${AGENT} seen only` }).waitFor()
    expect(await decide(on.server, ALLOWED)).toMatchObject({ effect: 'allow' })
  })

  it('one that nobody has seen can be suspended', async () => {
    await on.open('/agents/agent:new-1')
    await on.page.getByText('This agent has not been seen').waitFor()
    await on.page.getByRole('button', { name: 'Suspend' }).click()
    await on.page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'agent:new-1 SUSPENDED' }).waitFor()
    expect(await decide(on.server, { ...ALLOWED, agent_id: 'agent:new-1' })).toMatchObject({ effect: 'deny' })
    await expectNotFound()
  })

  it('show what they did, and what they can get', async () => {
    await on.open(`/agents/${AGENT}`)
    const counts = on.page.getByRole('group', { name: 'Decisions in the last 24 hours' })
    await expect.poll(() => counts.textContent()).toContain('2allow0log0review2deny')
    const effects = on.page.getByRole('table', { name: 'Effects by action' })
    await effects.getByRole('row', { name: 'payment.refund' }).getByText('review').waitFor()
    await on.page.getByLabel('Another action').fill('payment delete')
    await on.page.getByRole('button', { name: 'Add' }).click()
    await on.page.getByText('Use letters, digits').waitFor()
    await on.page.getByLabel('Another action').fill('payment.delete')
    await on.page.getByRole('button', { name: 'Add' }).click()
    const added = effects.getByRole('row', { name: 'payment.delete' })
    await added.waitFor()
    expect(await added.getByRole('cell').nth(1).textContent()).toBe('deny')
    expect(await violationsOf(on.page)).toEqual([])
    await on.page.getByRole('link', { name: 'View all decisions' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Decisions' }).waitFor()
    expect(new URL(on.page.url()).searchParams.get('agent_id')).toBe(AGENT)
  })

  it('are only looked at with a key that may only read', async () => {
    const { key } = await makeKey(on.server, ['agents:read'])
    const page = await on.another(key)
    await page.goto(`/agents/${AGENT}`)
    await page.getByRole('heading', { level: 1, name: AGENT }).waitFor()
    for (const name of ['Suspend', 'Register', 'Edit']) expect(await page.getByRole('button', { name }).count()).toBe(0)
    expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual(['Registration'])
  })

  it('an id that no agent can have is shown as text', async () => {
    await on.open(`/agents/${encodeURIComponent('<img src=x onerror=alert(1)>')}`)
    await on.page.getByText('<img src=x onerror=alert(1)>').waitFor()
  })

  /** The browser reports each 404 for an unknown agent on its console. The page that may ask once more is left first. */
  const expectNotFound = async () => {
    await on.open('/get-started')
    for (const complaint of on.complaints.splice(0)) expect(complaint).toContain('404')
  }
  const agentOf = (id: string) => succeed(on.server.call('GET', `/v1/agents/${encodeURIComponent(id)}`))
})
