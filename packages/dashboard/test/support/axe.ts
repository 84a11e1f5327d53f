import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The rules whose result depends on the colour scheme. They take the most time. */
const ABOUT_COLOURS = ['color-contrast', 'link-in-text-block']

export const ONLY_COLOURS: RunOptions = { runOnly: ABOUT_COLOURS }
export const ALL_BUT_COLOURS: RunOptions = {
  rules: Object.fromEntries(ABOUT_COLOURS.map((rule) => [rule, { enabled: false }])),
}

/**
 * Returns the violations that axe finds on the page, one line each.
 *
 * @param within the elements to check, as a CSS selector; the whole page when absent
 */
export async function violationsOf(page: Page, options: RunOptions = {}, within = 'html'): Promise<string[]> {
  // Uses the debugger, because the content security policy blocks foreign scripts.
  await page.evaluate(SOURCE)
  const how = JSON.stringify({ resultTypes: ['violations'], ...options })
  const results = (await page.evaluate(`axe.run(${JSON.stringify(within)}, ${how})`)) as AxeResults
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary?.replaceAll('\n', ' ')}`),
  )
}
