import { describe, expect, it } from 'vitest'
import { tiersOf } from '../test-tiers.mjs'
import { closingLine, type Reports, summarize, tierLine } from './summary.mjs'

const CHECKOUT = {
  root: '/checkout/',
  testFiles: [
    'server/test/policy.test.ts',
    'server/test/crash.slow.test.ts',
    'packages/dashboard/test/pages.browser.test.ts',
    'server/test/mongodb/store.test.ts',
  ],
  allowedSkips: [],
}
const STEPS = {
  steps: [
    { name: 'lint', status: 'passed' as const },
    { name: 'types', status: 'passed' as const },
  ],
}

function vitestReport(...statuses: string[]) {
  const assertionResults = statuses.map((status, index) => ({
    ancestorTitles: ['a policy'],
    title: `${status} ${index}`,
    status,
  }))
  const status = statuses.includes('failed') ? 'failed' : 'passed'
  return { testResults: [{ name: '/checkout/server/test/policy.test.ts', status, assertionResults }] }
}

const reportOf = (file: string) => ({
  testResults: [
    {
      name: `/checkout/${file}`,
      status: 'passed',
      assertionResults: [{ ancestorTitles: [], title: 'a store', status: 'passed' }],
    },
  ],
})
const SLOW = reportOf('server/test/crash.slow.test.ts')
const BROWSER = reportOf('packages/dashboard/test/pages.browser.test.ts')
const MONGODB = reportOf('server/test/mongodb/store.test.ts')

function summaryOf(reports: Partial<Reports>, checkout: Parameters<typeof summarize>[1]) {
  return summarize(
    { steps: undefined, quick: undefined, slow: SLOW, browser: BROWSER, mongodb: MONGODB, ...reports },
    checkout,
  )
}

function lineOf(...args: Parameters<typeof summaryOf>) {
  return closingLine(summaryOf(...args))
}

describe('the closing line', () => {
  it('adds up tests and steps', () => {
    expect(lineOf({ steps: STEPS, quick: vitestReport('passed', 'passed', 'passed') }, CHECKOUT)).toBe(
      '8 passed, 0 failed',
    )
  })

  it('has the tests of each tier above it', () => {
    const quick = vitestReport('passed', 'failed', 'passed')
    expect(tierLine(summaryOf({ steps: STEPS, quick }, CHECKOUT))).toBe(
      'tests passed by tier: 2 quick, 1 slow, 1 in a browser, 1 on MongoDB',
    )
  })

  it('counts a failed test', () => {
    expect(lineOf({ steps: STEPS, quick: vitestReport('passed', 'failed') }, CHECKOUT)).toBe('6 passed, 1 failed')
  })

  it('counts a test file that could not be loaded', () => {
    const quick = {
      testResults: [
        ...vitestReport('passed').testResults,
        { name: '/checkout/a.test.ts', status: 'failed', message: 'no such module', assertionResults: [] },
      ],
    }
    const summary = summaryOf({ steps: STEPS, quick }, CHECKOUT)
    expect(closingLine(summary)).toBe('6 passed, 1 failed')
    expect(summary.faults).toEqual(['test file a.test.ts: no such module'])
  })

  it('counts a test file that was not run', () => {
    const summary = summaryOf(
      { steps: STEPS, quick: vitestReport('passed') },
      { ...CHECKOUT, testFiles: [...CHECKOUT.testFiles, 'elsewhere/a.test.ts'] },
    )
    expect(closingLine(summary)).toBe('6 passed, 1 failed')
    expect(summary.faults).toEqual(['test file elsewhere/a.test.ts: not in reports/vitest.json'])
  })

  it('counts a file whose tests pass but that fails itself', () => {
    const quick = { testResults: vitestReport('passed').testResults.map((file) => ({ ...file, status: 'failed' })) }
    expect(lineOf({ steps: STEPS, quick }, CHECKOUT)).toBe('6 passed, 1 failed')
  })

  it.each(['failed', 'not run'] as const)('counts a step that is %s', (status) => {
    const steps = { steps: [...STEPS.steps, { name: 'knip', status }] }
    expect(lineOf({ steps, quick: vitestReport('passed') }, CHECKOUT)).toBe('6 passed, 1 failed')
  })
})

describe('a report', () => {
  it('that is missing is a fault', () => {
    expect(lineOf({ steps: STEPS }, CHECKOUT)).toBe('5 passed, 1 failed')
    expect(lineOf({ quick: vitestReport('passed') }, CHECKOUT)).toBe('4 passed, 1 failed')
    expect(lineOf({ steps: STEPS, quick: vitestReport('passed'), mongodb: undefined }, CHECKOUT)).toBe(
      '5 passed, 1 failed',
    )
    expect(lineOf({ mongodb: undefined }, CHECKOUT)).toBe('2 passed, 3 failed')
  })

  it('of each tier has to hold the files of that tier and no others', () => {
    const quick = { testResults: [...vitestReport('passed').testResults, ...SLOW.testResults] }
    expect(summaryOf({ steps: STEPS, quick, slow: { testResults: [] } }, CHECKOUT).faults).toEqual([
      'test file server/test/crash.slow.test.ts: in reports/vitest.json, but of another tier',
      'test file server/test/crash.slow.test.ts: not in reports/vitest-slow.json',
      'reports/vitest-slow.json holds no test',
    ])
  })

  it('without a test is a fault', () => {
    expect(lineOf({ steps: STEPS, quick: { testResults: [] } }, { ...CHECKOUT, testFiles: [] })).toBe(
      '5 passed, 1 failed',
    )
    expect(lineOf({ steps: STEPS, quick: vitestReport() }, CHECKOUT)).toBe('5 passed, 1 failed')
    expect(lineOf({ steps: { steps: [] }, quick: vitestReport('passed') }, CHECKOUT)).toBe('4 passed, 1 failed')
  })
})

describe('the report on MongoDB', () => {
  it('has to hold the suites of the store and of the API', () => {
    const testFiles = [...CHECKOUT.testFiles, 'server/test/api/keys.test.ts']
    const report = vitestReport('passed')
    const file = { ...report.testResults[0], name: '/checkout/server/test/api/keys.test.ts', status: 'passed' }
    const quick = { testResults: [...report.testResults, { ...file, assertionResults: [] }] }
    expect(summaryOf({ steps: STEPS, quick }, { ...CHECKOUT, testFiles }).faults).toContain(
      'test file server/test/api/keys.test.ts: not in reports/vitest-mongodb.json',
    )
  })

  it.each([
    'server/test/api/keys.test.ts',
    'integrations/express/test/enforcement-suite.test.ts',
    'tools/lost-answers/test/five-refunds.slow.test.ts',
  ])('holds what concerns money on both stores: %s', (file) => {
    const mongodb = { testResults: [...MONGODB.testResults, ...reportOf(file).testResults] }
    const inTier = (tier: 'quick' | 'slow') => (tiersOf(file).includes(tier) ? reportOf(file).testResults : [])
    const quick = { testResults: [...vitestReport('passed').testResults, ...inTier('quick')] }
    const slow = { testResults: [...SLOW.testResults, ...inTier('slow')] }
    const testFiles = [...CHECKOUT.testFiles, file]
    expect(summaryOf({ steps: STEPS, quick, slow, mongodb }, { ...CHECKOUT, testFiles }).faults).toEqual([])
    const missing = `test file ${file}: not in reports/vitest-mongodb.json`
    expect(summaryOf({ steps: STEPS, quick, slow }, { ...CHECKOUT, testFiles }).faults).toEqual([missing])
  })

  it('may skip nothing that is not in the list', () => {
    const skipped = MONGODB.testResults.map((file) => ({
      ...file,
      assertionResults: file.assertionResults.map((test) => ({ ...test, status: 'skipped' })),
    }))
    const mongodb = { testResults: skipped }
    expect(lineOf({ steps: STEPS, quick: vitestReport('passed'), mongodb }, CHECKOUT)).toBe('5 passed, 1 failed')
  })
})

describe('a test that did not run', () => {
  const test = 'server/test/policy.test.ts > a policy > skipped 1'

  it.each(['skipped', 'pending', 'todo', 'disabled'])('(%s) is a fault', (status) => {
    const summary = summaryOf({ steps: STEPS, quick: vitestReport('passed', status) }, CHECKOUT)
    expect(closingLine(summary)).toBe('6 passed, 1 failed')
    expect(summary.faults).toEqual([
      `test server/test/policy.test.ts > a policy > ${status} 1: ${status}, and not in .ci/allowed-skips.json`,
    ])
  })

  it('is shown with its reason when it is in the list, and counts neither way', () => {
    const allowedSkips = [{ test, reason: 'needs a kernel with io_uring' }]
    const summary = summaryOf({ steps: STEPS, quick: vitestReport('passed', 'skipped') }, { ...CHECKOUT, allowedSkips })
    expect(closingLine(summary)).toBe('6 passed, 0 failed')
    expect(summary.skips).toEqual([`${test}: needs a kernel with io_uring`])
  })

  it('is a fault when only another test is in the list', () => {
    const allowedSkips = [{ test: `${test} of another`, reason: 'needs a kernel with io_uring' }]
    expect(lineOf({ steps: STEPS, quick: vitestReport('passed', 'skipped') }, { ...CHECKOUT, allowedSkips })).toBe(
      '6 passed, 1 failed',
    )
  })
})
