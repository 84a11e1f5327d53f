/** Runs every step of the checks, one after another and all of them, then adds up the reports. Called by `.ci/run`. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runStep } from './step.mjs'
import { plannedSteps } from './steps.mjs'
import { closingLine, summarize, tierLine } from './summary.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const REPORTS = join(ROOT, 'reports')
/** All steps together end within this, whatever each may take. */
const TOTAL_MINUTES = 25

rmSync(REPORTS, { recursive: true, force: true })
mkdirSync(REPORTS)

const steps = plannedSteps(ROOT)
/** @type {import('./summary.mjs').StepResult[]} */
const results = steps.map(({ name }) => ({ name, status: 'not run' }))
for (const [index, step] of steps.entries()) {
  writeSteps()
  console.log(`\n=== ${step.name}: ${step.command.join(' ')}`)
  const minutes = Math.min(step.minutes, TOTAL_MINUTES - process.uptime() / 60)
  const result = minutes > 0 ? await runStep({ ...step, minutes }, ROOT) : { name: step.name, status: 'not run' }
  results[index] = /** @type {import('./summary.mjs').StepResult} */ (result)
  console.log(`--- ${step.name}: ${describe(results[index])}`)
}
writeSteps()

const summary = summarize(
  {
    steps: readReport('steps.json'),
    quick: readReport('vitest.json'),
    slow: readReport('vitest-slow.json'),
    browser: readReport('vitest-browser.json'),
    mongodb: readReport('vitest-mongodb.json'),
  },
  { root: ROOT, testFiles: listTestFiles(), allowedSkips: readJson(join(ROOT, '.ci', 'allowed-skips.json')) },
)
console.log(`\n=== Summary after ${Math.round(process.uptime())} s`)
for (const skip of summary.skips) console.log(`skipped  ${skip}`)
for (const fault of summary.faults) console.log(`failed   ${fault}`)
console.log(tierLine(summary))
console.log(closingLine(summary))
process.exitCode = summary.faults.length === 0 ? 0 : 1

/** Written before each step too, so that steps which a crash kept from running count as not run. */
function writeSteps() {
  writeFileSync(join(REPORTS, 'steps.json'), `${JSON.stringify({ steps: results }, null, 2)}\n`)
}

/** @param {string} name */
function readReport(name) {
  try {
    return readJson(join(REPORTS, name))
  } catch {
    return undefined
  }
}

/** @param {string} file */
function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function listTestFiles() {
  const output = execFileSync('git', ['ls-files', '-z', '*.test.ts'], { cwd: ROOT, encoding: 'utf8' })
  return output.split('\0').filter((path) => path !== '')
}

/** @param {import('./summary.mjs').StepResult} result */
function describe({ status, seconds, detail }) {
  return `${status}${seconds === undefined ? '' : ` after ${seconds} s`}${detail ? ` (${detail})` : ''}`
}
