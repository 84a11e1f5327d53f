/** The time range of the lists of decisions and audit entries. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPolicy, decide, makeKey } from '../../../server/test/api/refunds.js'
import { TestClock } from '../../../server/test/running-server.js'
import { violationsOf } from './support/axe.js'
import { stage } from './support/browser.js'

const DAY_MS = 86_400_000
/** The ages, in days, of one decision and one key each. */
const AGES = [40, 20, 3, 0.5, 0.01]

describe('the range of time', () => {
  const now = Date.now()
  const clock = new TestClock()
  clock.set(new Date(now - 50 * DAY_MS))
  const on = stage({ clock, settings: { rateLimitPerSecond: 0 } })
  beforeAll(async () => {
    await createPolicy(on.server, { name: 'all', rules: [{ action: 'mail.send', effect: 'allow' }] })
    for (const age of AGES) {
      clock.set(new Date(now - age * DAY_MS))
      await decide(on.server, { agent_id: 'agent:a', action: 'mail.send', resource: `mail:${age}` })
      await makeKey(on.server, ['decisions:read'])
    }
    clock.set(new Date(now))
  })
  const rows = () => on.page.getByRole('table').locator('tbody').getByRole('row')
  const time = () => on.page.getByRole('combobox', { name: 'Time' })
  const choose = async (name: string) => {
    await time().click()
    await on.page.getByRole('option', { name }).click()
  }

  it.each([
    ['Decisions', '/decisions', AGES.length],
    ['Audit', '/audit?type=key.created', AGES.length + 1],
  ])('of %s is chosen from presets, and is in the URL', async (title, path, all) => {
    await on.open(path, title)
    await expect.poll(() => rows().count()).toBe(all)
    for (const [preset, count] of Object.entries({
      'Last hour': 1,
      'Last 24 hours': 2,
      'Last 7 days': 3,
      'Last 30 days': 4,
    })) {
      await choose(preset)
      await expect.poll(() => rows().count(), { message: preset }).toBe(count)
      expect(await time().inputValue()).toBe(preset)
    }
    const { searchParams, href } = new URL(on.page.url())
    expect(searchParams.get('from')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/)
    expect(searchParams.get('to')).toBeNull()
    // Another user sees the same list.
    const other = await on.another(on.server.key)
    await other.goto(href)
    await expect.poll(() => other.getByRole('table').locator('tbody').getByRole('row').count()).toBe(4)
    await other.context().close()
    await on.page.getByRole('button', { name: 'Clear filters' }).click()
    await expect.poll(() => new URL(on.page.url()).search).toBe('')
  })

  it('is exact to the second, by the keyboard, in the time zone that is shown', async () => {
    await on.open('/decisions', 'Decisions')
    await time().focus()
    const isSelected = (name: string) =>
      on.page.getByRole('option', { name }).and(on.page.locator('[data-combobox-selected]')).waitFor()
    await on.page.keyboard.press('ArrowDown')
    await isSelected('Last hour')
    // Mantine looks up the selected option again in two timers, one after the other. It ignores Enter until then.
    await on.page.evaluate(() => new Promise((resolve) => setTimeout(() => setTimeout(resolve))))
    await on.page.keyboard.press('ArrowUp')
    await isSelected('From … to …')
    await on.page.keyboard.press('Enter')
    await expect.poll(() => time().inputValue()).toBe('From … to …')
    const zone = await on.page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone)
    await on.page.getByText(`Times are in ${zone} (GMT`).waitFor()
    const local = (age: number) =>
      on.page.evaluate(
        (ms) => {
          const at = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000)
          return at.toISOString().slice(0, 19)
        },
        now - age * DAY_MS,
      )
    await on.page.getByLabel('From', { exact: true }).fill(await local(21))
    await on.page.getByLabel('To', { exact: true }).fill(await local(1))
    await on.page.keyboard.press('Enter')
    await expect.poll(() => rows().count()).toBe(2)
    const second = (age: number) => `${new Date(now - age * DAY_MS).toISOString().slice(0, 19)}.000Z`
    const { searchParams } = new URL(on.page.url())
    expect([searchParams.get('from'), searchParams.get('to')]).toEqual([second(21), second(1)])
    await on.look('time-range')
    await on.narrow('time-range')

    await on.page.getByLabel('To', { exact: true }).fill(await local(30))
    await on.page.getByText('“To” must be after “From”.').waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    await on.page.reload()
    await expect
      .poll(() => on.page.getByLabel('From', { exact: true }).inputValue())
      .toContain((await local(21)).replace(/:00$/, ''))
  })

  /** Returns the keys for a field with the order month, day, year, hour, minute, second, AM or PM. */
  const typed = (page: Page, ms: number) =>
    page.evaluate((at) => {
      const two = { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
      return new Date(at).toLocaleString('en-US', { year: 'numeric', ...two }).replace(/[^0-9AP]/g, '')
    }, ms)
  const from = (page: Page) => new URL(page.url()).searchParams.get('from')

  it.each(['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata'])(
    'is typed digit by digit in %s',
    async (timezoneId) => {
      const page = await on.another(on.server.key, { timezoneId })
      await page.goto('/decisions')
      await page.getByRole('combobox', { name: 'Time' }).click()
      await page.getByRole('option', { name: 'From … to …' }).click()
      const field = page.getByLabel('From', { exact: true })
      for (const age of [10, 30, 1]) {
        const ms = Math.trunc(now / 1000) * 1000 - age * DAY_MS
        await field.focus()
        for (const key of await typed(page, ms)) await page.keyboard.press(key)
        if (age === 10) await page.keyboard.press('Enter')
        // Leaving the field applies the time too, and the next text starts at the month.
        await page.getByLabel('To', { exact: true }).focus()
        await expect.poll(() => from(page)).toBe(new Date(ms).toISOString())
      }
      await page.context().close()
    },
  )

  it.each([
    ['Decisions', '/decisions'],
    ['Audit', '/audit'],
  ])('of %s that is not complete says so, and counts when it is', async (title, path) => {
    await on.open(path, title)
    await choose('From … to …')
    const ms = Math.trunc(now / 1000) * 1000 - 10 * DAY_MS
    const keys = await typed(on.page, ms)
    const field = on.page.getByLabel('From', { exact: true })
    await field.focus()
    // All keys but the last one, for AM or PM.
    for (const key of keys.slice(0, -1)) await on.page.keyboard.press(key)
    await on.page.getByLabel('To', { exact: true }).focus()
    await on.page.getByRole('alert').getByText('Enter a complete date and time.').waitFor()
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    expect(from(on.page)).toBeNull()
    await on.look(`time-range-incomplete-${title}`, 'form')
    await on.narrow(`time-range-incomplete-${title}`, 'form')
    // With the keyboard, from the other field back over the calendar button to the last part of this one.
    await on.page.getByLabel('To', { exact: true }).focus()
    await on.page.keyboard.press('Shift+Tab')
    await on.page.keyboard.press('Shift+Tab')
    await on.page.keyboard.press(keys.slice(-1))
    await on.page.keyboard.press('Tab')
    await on.page.keyboard.press('Tab')
    await expect.poll(() => from(on.page)).toBe(new Date(ms).toISOString())
    expect(await on.page.getByRole('alert').count()).toBe(0)
  })

  it('of the audit log is readable', async () => {
    await on.open('/audit?from=2026-01-02T03:04:05.000Z', 'Audit')
    await on.page.getByLabel('From', { exact: true }).waitFor()
    await on.look('time-range-audit', 'form')
    await on.narrow('time-range-audit', 'form')
  })

  it('that is none is refused in words', async () => {
    await on.open('/decisions?from=yesterday', 'Decisions')
    await on.page.getByRole('alert').getByText('/from').waitFor()
    await on.open('/get-started')
    expect(on.complaints.splice(0).filter((one) => !one.includes('400'))).toEqual([])
  })
})
