/** From a phone to a wide screen: lists of 200 rows show their whole main column, and cut no time, status, heading or button. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPolicy, decide, makeKey, REFUNDS, succeed } from '../../../server/test/api/refunds.js'
import { type Stage, stage } from './support/browser.js'
import { LOCAL_WEBHOOKS, NOBODY } from './support/fill.js'

const ROWS = 200
const AT_ONCE = 25
/** Webhooks are limited, so there are fewer of them. */
const WEBHOOKS = 20
const WIDTHS = [320, 390, 768, 1024, 1440]
/** The least width of the main column's text, in pixels, by the width of the window. */
const leastOf = (width: number) => (width < 350 ? 100 : width < 768 ? 150 : 160)

/** Each call adds one row to its list. */
async function fillRow(on: Stage, i: number): Promise<void> {
  const { call } = on.server
  const post = (path: string, body: object = {}) => succeed(call('POST', path, { body }))
  const agent_id = `agent:support-${i}`
  const ask = (amount: number) =>
    decide(on.server, { agent_id, action: 'payment.refund', resource: `order:${8800 + i}`, context: { amount } })
  if (i % 4 === 0) await decide(on.server, { agent_id: LONG_AGENT + i, action: LONG_ACTION })
  const { id } = await ask(420)
  await post(`/v1/decisions/${id}/${i % 2 === 0 ? 'approve' : 'decline'}`, { comment: 'Asked the customer by phone.' })
  await ask([42, 420, 5_000][i % 3] as number)
  await createPolicy(on.server, {
    ...REFUNDS,
    name:
      i % 4 === 0 ? `refunds, exports and cancellations that the desk number ${i} may make` : `refunds of desk ${i}`,
    agents: [`agent:desk-${i}`],
  })
  await makeKey(on.server, ['decisions:write'], { agents: [agent_id] })
}

const LONG_ACTION = 'customer_records.export_to_the_warehouse_of_a_third_party_with_all_earlier_orders'
const LONG_AGENT = 'agent:accounts-payable/europe-west/reconciliation-of-refunds-'

interface Shown {
  readonly column: string
  /** The width of the text, in pixels. */
  readonly width: number
  /** How much of the text is cut at the right or at the bottom, in pixels. */
  readonly cut: number
}

/** Measures the headings and the cells of the first rows of a list, and the list in its frame. */
async function shownBy(page: Page, name: string): Promise<{ cells: Shown[]; overflow: number; frame: number }> {
  return page.getByRole('region', { name, exact: true }).evaluate((frame) => {
    const cutOf = (one: Element) =>
      getComputedStyle(one).overflowX === 'visible' || one.className === 'visually-hidden'
        ? 0
        : Math.max(one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight)
    const contentOf = (cell: HTMLElement) => {
      const { paddingLeft, paddingRight } = getComputedStyle(cell)
      return cell.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)
    }
    const titles = [...frame.querySelectorAll<HTMLElement>('th')]
    const rows = [...frame.querySelectorAll<HTMLElement>('tbody tr')].filter((row) => row.ariaRowIndex !== null)
    const cells = [titles, ...rows.map((row) => [...row.querySelectorAll<HTMLElement>('td')])].flatMap((line) =>
      line.map((cell, index) => ({
        column: titles[index]?.textContent ?? '',
        width: contentOf(cell),
        cut: Math.max(...[cell, ...cell.querySelectorAll('*')].map(cutOf)),
      })),
    )
    return { cells, overflow: frame.scrollWidth - frame.clientWidth, frame: frame.clientWidth }
  })
}

describe('a list of 200 rows', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0, ...LOCAL_WEBHOOKS } })
  let webhook: string
  beforeAll(async () => {
    await createPolicy(on.server, REFUNDS)
    const hook = await succeed(on.server.call('POST', '/v1/webhooks', { body: { url: `${NOBODY}/countersign` } }))
    webhook = hook.id
    for (let i = 0; i < WEBHOOKS; i++)
      await succeed(on.server.call('POST', '/v1/webhooks', { body: { url: `${NOBODY}/desk-${i}`, enabled: false } }))
    const rows = Array.from({ length: ROWS }, (_, i) => i)
    while (rows.length > 0) await Promise.all(rows.splice(0, AT_ONCE).map((i) => fillRow(on, i)))
  }, 300_000)

  it.each([
    ['decisions', '/decisions', 'Decisions', 'Action and agent'],
    ['audit', '/audit', 'Audit log', 'What'],
    ['answered reviews', '/reviews?tab=answered', 'Completed reviews', 'Action and agent'],
    ['agents', '/agents', 'Agents', 'Agent'],
    ['the decisions of an agent', '/agents/agent%3Asupport-7', 'Latest decisions', 'Action'],
    ['policies', '/policies', 'Policies', 'Policy'],
    ['keys', '/keys', 'API keys', 'Name'],
    ['webhooks', '/webhooks', 'Webhooks', 'URL'],
    ['deliveries', () => `/webhooks/${webhook}`, 'List of deliveries', 'Event'],
  ] as const)('of %s', async (list, path, name, main) => {
    await on.open(typeof path === 'string' ? path : path())
    const region = on.page.getByRole('region', { name, exact: true })
    await region.locator('tbody tr').nth(1).waitFor()
    for (const width of WIDTHS) {
      await on.page.setViewportSize({ width, height: 800 })
      // Further down, a spacer row replaces the rows above.
      await region.evaluate((frame) => frame.scrollTo(0, frame.scrollHeight / 2))
      await expect
        .poll(async () => problemsOf(await shownBy(on.page, name), main, width), { message: `${list} at ${width}` })
        .toEqual([])
      const { cells } = await shownBy(on.page, name)
      const columns = new Map(cells.map(({ column, width: text }) => [column, Math.round(text)]))
      console.log(`${list} at ${width} px: ${[...columns].map(([column, text]) => `${column} ${text}`).join(', ')}`)
      await on.screenshot(`list-${list.replaceAll(' ', '-')}-${width}`)
    }
  })
})

describe('the header', () => {
  const on = stage()

  it('has all its buttons', async () => {
    await on.open('/get-started')
    for (const width of WIDTHS) {
      await on.page.setViewportSize({ width, height: 800 })
      const buttons = on.page.getByRole('banner').getByRole('button')
      const ends = await buttons.evaluateAll((all) =>
        all
          .filter((one) => one.checkVisibility())
          .map((one) => ({
            name: one.ariaLabel ?? one.textContent,
            end: Math.ceil(one.getBoundingClientRect().right),
          })),
      )
      expect(ends.map(({ name }) => name)).toContain('Sign out')
      expect(
        ends.filter(({ end }) => end > width),
        `at ${width} px`,
      ).toEqual([])
    }
  })
})

/** Columns beside the main one whose texts may end in `…`, because others choose these texts at any length. */
const FREE = new Set([
  'Agent',
  'Events',
  'Note and key',
  'Resource',
  'Rules',
  'Scopes and agents',
  'Actor',
  'Why',
  'Index and log',
  'Created by',
])

function problemsOf(
  { cells, overflow, frame }: { cells: Shown[]; overflow: number; frame: number },
  main: string,
  width: number,
): string[] {
  const mains = cells.filter(({ column }) => column === main)
  const least = leastOf(width)
  return [
    ...(mains.length > 1 ? [] : [`${main} is not shown`]),
    ...(overflow > 0 ? [`the list is ${overflow} px wider than its frame of ${frame} px`] : []),
    ...mains.filter((cell) => cell.width < least).map((cell) => `${main} has ${cell.width} px`),
    ...cells
      .filter(({ column, cut }) => cut > 0 && (column === main || !FREE.has(column)))
      .map(({ column, width: text, cut }) => `${cut} px of ${column} are cut: it has ${text} px`),
  ].filter((one, index, all) => all.indexOf(one) === index)
}
