/** Adds up the report files of the runners: what passed, what failed, and what is missing from them. */
import { relative } from 'node:path'
import { tiersOf } from '../test-tiers.mjs'

/**
 * @typedef {{ name: string, status: 'passed' | 'failed' | 'not run', seconds?: number, detail?: string }} StepResult
 * @typedef {{ steps: StepResult[] }} StepsReport
 * @typedef {{ ancestorTitles: string[], title: string, status: string }} TestResult
 * @typedef {{ name: string, status: string, message?: string, assertionResults: TestResult[] }} FileResult
 * @typedef {{ testResults: FileResult[] }} VitestReport
 * @typedef {'quick' | 'slow' | 'browser' | 'mongodb'} Tier
 * @typedef {{ [Name in Tier]: VitestReport | undefined }} TestReports
 * @typedef {TestReports & { steps: StepsReport | undefined }} Reports
 * @typedef {{ test: string, reason: string }} AllowedSkip `test` is `<file> > <describe> > … > <name>`
 * @typedef {{ passed: number, faults: string[], skips: string[] }} Part
 * @typedef {Part & { tests: { [Name in Tier]: number } }} Summary `tests`: how many ran and passed
 */

/**
 * A report that is missing (undefined) or without any test is a fault, as is each test that did not run and is not
 * in the list of allowed skips, and each test file that the report of its tier does not know, or that of another does.
 * @param {Reports} reports
 * @param {{ root: string, testFiles: string[], allowedSkips: AllowedSkip[] }} checkout `root` is what the file names of
 *   vitest's report begin with, `testFiles` are below it
 * @returns {Summary}
 */
export function summarize({ steps, quick, slow, browser, mongodb }, checkout) {
  const tests = {
    quick: ofTests('reports/vitest.json', quick, checkout, 'quick'),
    slow: ofTests('reports/vitest-slow.json', slow, checkout, 'slow'),
    browser: ofTests('reports/vitest-browser.json', browser, checkout, 'browser'),
    mongodb: ofTests('reports/vitest-mongodb.json', mongodb, checkout, 'mongodb'),
  }
  const parts = [steps ? ofSteps(steps) : missing('reports/steps.json'), ...Object.values(tests)]
  return {
    passed: parts.reduce((sum, part) => sum + part.passed, 0),
    tests: {
      quick: tests.quick.passed,
      slow: tests.slow.passed,
      browser: tests.browser.passed,
      mongodb: tests.mongodb.passed,
    },
    faults: parts.flatMap((part) => part.faults),
    skips: parts.flatMap((part) => part.skips),
  }
}

/**
 * The line above the closing one.
 * @param {Summary} summary
 */
export function tierLine({ tests: { quick, slow, browser, mongodb } }) {
  return `tests passed by tier: ${quick} quick, ${slow} slow, ${browser} in a browser, ${mongodb} on MongoDB`
}

/**
 * The closing line.
 * @param {Summary} summary
 */
export function closingLine({ passed, faults }) {
  return `${passed} passed, ${faults.length} failed`
}

/**
 * @param {string} file
 * @returns {Part}
 */
function missing(file) {
  return { passed: 0, faults: [`${file} is missing or no JSON`], skips: [] }
}

/**
 * @param {StepsReport} report
 * @returns {Part}
 */
function ofSteps({ steps }) {
  const faults = steps
    .filter(({ status }) => status !== 'passed')
    .map(({ name, status, detail }) => `step ${name}: ${detail ?? status}`)
  const passed = steps.length - faults.length
  return { passed, faults: steps.length === 0 ? ['reports/steps.json holds no step'] : faults, skips: [] }
}

/**
 * @param {string} path of the report
 * @param {VitestReport | undefined} report
 * @param {{ root: string, testFiles: string[], allowedSkips: AllowedSkip[] }} checkout
 * @param {Tier} tier
 * @returns {Part}
 */
function ofTests(path, report, { root, testFiles, allowedSkips }, tier) {
  if (report === undefined) return missing(path)
  const isOfTier = (/** @type {string} */ file) => tiersOf(file).includes(tier)
  const { testResults } = report
  /** @type {Part} */
  const summary = { passed: 0, faults: [], skips: [] }
  const forgotten = new Set(testFiles.filter(isOfTier))
  for (const { name, status, message, assertionResults } of testResults) {
    const file = relative(root, name)
    forgotten.delete(file)
    if (!isOfTier(file)) summary.faults.push(`test file ${file}: in ${path}, but of another tier`)
    for (const test of assertionResults) {
      count([file, ...test.ancestorTitles, test.title].join(' > '), test.status, allowedSkips, summary)
    }
    const told = assertionResults.some((test) => test.status === 'failed')
    if (status === 'failed' && !told) summary.faults.push(`test file ${file}: ${message || 'failed'}`)
    else if (assertionResults.length === 0) summary.faults.push(`test file ${file}: holds no test`)
  }
  for (const file of forgotten) summary.faults.push(`test file ${file}: not in ${path}`)
  if (testResults.length === 0) summary.faults.push(`${path} holds no test`)
  return summary
}

/**
 * @param {string} test
 * @param {string} status
 * @param {AllowedSkip[]} allowedSkips
 * @param {Part} summary
 */
function count(test, status, allowedSkips, summary) {
  const allowed = allowedSkips.find((skip) => skip.test === test)
  if (status === 'passed') summary.passed += 1
  else if (status === 'failed') summary.faults.push(`test ${test}`)
  else if (allowed) summary.skips.push(`${test}: ${allowed.reason}`)
  else summary.faults.push(`test ${test}: ${status}, and not in .ci/allowed-skips.json`)
}
