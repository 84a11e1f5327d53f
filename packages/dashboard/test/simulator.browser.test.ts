import { describe, expect, it } from 'vitest'
import { createPolicy, DENIED, decide, REFUNDS, succeed } from '../../../server/test/api/refunds.js'
import { stage } from './support/browser.js'

describe('the simulator', () => {
  const on = stage()
  const button = (name: string) => on.page.getByRole('button', { name, exact: true })

  it('explains what the stored policies would answer', async () => {
    const policy = await createPolicy(on.server, { ...REFUNDS, budget: { limit: 500, unit: 'EUR', period: 'daily' } })
    await createPolicy(on.server, { name: 'watch', mode: 'shadow', rules: [{ action: '*', effect: 'log' }] })
    await on.open('/simulator', 'Simulator')
    await on.page.getByText('No result yet').waitFor()
    await on.page.getByLabel('Agent', { exact: true }).fill('agent:support-7')
    await on.page.getByLabel('Action', { exact: true }).fill('payment.refund')
    await on.page.getByRole('textbox', { name: 'Context' }).click()
    await on.page.keyboard.press('Control+A')
    await on.page.keyboard.insertText('{"amount": 420')
    await button('Simulate').click()
    await on.page.getByText('Expected a comma or }.').first().waitFor()
    await on.page.keyboard.insertText('')
    await on.page.getByRole('textbox', { name: 'Context' }).press('End')
    await on.page.keyboard.insertText('}')
    await button('Simulate').click()
    await on.page.getByText('Refunds over 100 need a person.', { exact: true }).waitFor()
    const answer = on.page.getByRole('region', { name: 'Result' })
    await answer.getByText('rule matched, by rule 2 of refunds').waitFor()
    await answer.getByText('context.amount $lte').first().waitFor()
    await answer.getByText('420').first().waitFor()
    await answer.getByText('rule 1 of watch').waitFor()
    await on.look('simulator-answer')
    await on.page.getByRole('textbox', { name: 'Context' }).click()
    await on.page.keyboard.press('Control+A')
    await on.page.keyboard.insertText('{"amount": 20}')
    await answer.getByText('of the previous request').waitFor()
    await button('Simulate').click()
    await answer.getByRole('table', { name: 'Budgets' }).getByText('480 EUR').waitFor()
    await answer.getByRole('link', { name: 'refunds' }).first().click()
    await on.page.waitForURL(`**/policies/${policy.id}`)
    const { data } = await succeed(on.server.call('GET', '/v1/decisions'))
    expect(data).toEqual([])
  })

  it('takes the request of a decision', async () => {
    const decision = await decide(on.server, DENIED)
    await on.open(`/simulator?for=${decision.id}`, 'Simulator')
    expect(await on.page.getByLabel('Agent', { exact: true }).inputValue()).toBe(DENIED.agent_id)
    expect(await on.page.getByLabel('Resource').inputValue()).toBe(DENIED.resource)
    await button('Simulate').click()
    await on.page.getByRole('region', { name: 'Result' }).getByText('rule matched, by rule 3 of refunds').waitFor()
  })

  it('says that a decision is not there', async () => {
    await on.open('/simulator?for=dec_01kagx3v5ne8sr6w1y6gqk4t2h', 'Simulator')
    await on.page.getByRole('alert').waitFor()
    // The page reads again once its stream of events is connected.
    expect(on.complaints.splice(0).filter((one) => !one.includes('404'))).toEqual([])
  })
})
