import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds wrong with the page, one line each. */
export async function violationsOf(page: Page): Promise<string[]> {
  // By the protocol of the debugger: the content security policy of the page lets no foreign script in.
  await page.evaluate(SOURCE)
  const results = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as AxeResults
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary?.replaceAll('\n', ' ')}`),
  )
}
